import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Twin of lang-samples/word_count.lang. The map keeps the order of insertion, as the library's does. */
public final class WordCount {
    static String text(long words) {
        Xoshiro random = new Xoshiro(2024);
        StringBuilder result = new StringBuilder();
        for (long i = 0; i < words; i++) {
            long number = random.nextBelow(random.nextBelow(random.nextBelow(2_000) + 1) + 1);
            if (i > 0) result.append(i % 12 == 0 ? '\n' : ' ');
            appendWord(result, number);
        }
        return result.toString();
    }

    static void appendWord(StringBuilder target, long number) {
        long rest = number + 20;
        while (rest > 0) {
            target.append("etaoinshrdlucmfwypvb".charAt((int) (rest % 20)));
            rest /= 20;
        }
    }

    static boolean isLetter(char c) {
        return c >= 'a' && c <= 'z';
    }

    static Map<String, Long> count(String text) {
        Map<String, Long> counts = new LinkedHashMap<>();
        int at = 0;
        while (at < text.length()) {
            if (isLetter(text.charAt(at))) {
                int end = at;
                while (end < text.length() && isLetter(text.charAt(end))) end++;
                String word = text.substring(at, end);
                counts.put(word, counts.getOrDefault(word, 0L) + 1);
                at = end;
            } else {
                at++;
            }
        }
        return counts;
    }

    static void work(long words) {
        String input = text(words);
        Map<String, Long> counts = count(input);
        List<Map.Entry<String, Long>> entries = new ArrayList<>(counts.entrySet());
        entries.sort((a, b) -> Long.compare(b.getValue(), a.getValue()));
        for (int i = 0; i < Math.min(10, entries.size()); i++) System.out.println(entries.get(i).getValue() + " " + entries.get(i).getKey());
        System.out.println(input.length() + " bytes, " + input.lines().toList().size() + " lines, " + counts.size() + " different words");
    }

    public static void main(String[] args) {
        Bench bench = new Bench(args);
        bench.repeat(() -> work(bench.argument(0, 5_000)));
    }
}
