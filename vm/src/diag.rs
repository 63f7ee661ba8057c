//! Errors of the front end as values: stable code, message, labelled spans, hint; and their rendering with source excerpts.
