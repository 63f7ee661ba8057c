//! The messages of pprof's `profile.proto` (package `perftools.profiles`), with the fields' numbers from there.
//!
//! Strings are indices into [`Profile::string_table`], whose first entry is empty. Ids of functions and locations are not 0.

/// The whole file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    /// What the values of a sample are.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Stacks with their values.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Where code comes from.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// What samples refer to.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// What locations refer to.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All texts; the first is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// A string: a pattern of frames to leave out. Not used here.
    #[prost(int64, tag = "7")]
    pub drop_frames: i64,
    /// A string: a pattern of frames to keep nevertheless. Not used here.
    #[prost(int64, tag = "8")]
    pub keep_frames: i64,
    /// Of the start, since 1970.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Of the run, 0 where unknown.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What lies between two samples. Not used here: values are calls already.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// How much of that. Not used here.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Strings.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// A string: the type of the values that are shown first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// Strings.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct ValueType {
    /// A string: what is counted.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// A string: in what.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A stack and what it counts for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// From the innermost frame.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One for each sample type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
}

/// Where code comes from.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Mapping {
    /// Not 0, and no other has it.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// An address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// An address.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// In bytes.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// A string.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// A string.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// Names of functions need not be looked up.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// Nor names of files.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Nor lines.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Nor inlined calls.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A place in a function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    /// Not 0, and no other has it.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Of a mapping, or 0.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Of the instruction, 0 where unknown.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// More than one where calls were inlined, the innermost first.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
    /// Other functions have the same code.
    #[prost(bool, tag = "5")]
    pub is_folded: bool,
}

/// A line of source.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Line {
    /// Of a function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// 1-based, 0 where unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
    /// 1-based, 0 where unknown.
    #[prost(int64, tag = "3")]
    pub column: i64,
}

/// A function's names.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Function {
    /// Not 0, and no other has it.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// A string.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// A string.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// A string.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// 1-based, 0 where unknown.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
