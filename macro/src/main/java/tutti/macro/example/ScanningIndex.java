package tutti.macro.example;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** An index that is none: cheap to write, and every search looks at every document. Not thread safe. */
public final class ScanningIndex implements SearchIndex {
    private static final Pattern BETWEEN_WORDS = Pattern.compile("[^\\p{L}\\p{N}]+");

    private final Map<Integer, String> documents = new TreeMap<>();

    static List<String> words(String text) {
        return Arrays.stream(BETWEEN_WORDS.split(text.toLowerCase(Locale.ROOT), -1)).filter(w -> !w.isEmpty()).toList();
    }

    @Override
    public boolean put(int document, String text) {
        return documents.put(document, text) != null;
    }

    @Override
    public void remove(int document) throws UnknownDocumentException {
        if (documents.remove(document) == null) {
            throw new UnknownDocumentException(document);
        }
    }

    @Override
    public List<Integer> containing(String word) {
        List<Integer> found = new ArrayList<>();
        documents.forEach((document, text) -> {
            if (words(text).contains(word)) {
                found.add(document);
            }
        });
        return List.copyOf(found);
    }

    @Override
    public List<String> completions(String prefix, int max) {
        NavigableSet<String> found = new TreeSet<>();
        documents.values().forEach(text -> words(text).stream().filter(w -> w.startsWith(prefix)).forEach(found::add));
        return found.stream().limit(max).toList();
    }

    @Override
    public String text(int document) throws UnknownDocumentException {
        String text = documents.get(document);
        if (text == null) {
            throw new UnknownDocumentException(document);
        }
        return text;
    }

    @Override
    public int size() {
        return documents.size();
    }
}
