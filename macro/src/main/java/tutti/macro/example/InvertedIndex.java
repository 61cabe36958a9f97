package tutti.macro.example;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;

/**
 * For each word its documents. With a hash table of words it finds them at once but must look at all words to complete
 * one; with a tree it is the other way round, nearly. Not thread safe.
 */
public final class InvertedIndex implements SearchIndex {
    private final Map<Integer, String> documents = new HashMap<>();
    private final Map<String, NavigableSet<Integer>> byWord;

    private InvertedIndex(Supplier<Map<String, NavigableSet<Integer>>> words) {
        byWord = words.get();
    }

    /** Words in a hash table. */
    public static InvertedIndex hashed() {
        return new InvertedIndex(HashMap::new);
    }

    /** Words in a tree. */
    public static InvertedIndex sorted() {
        return new InvertedIndex(TreeMap::new);
    }

    @Override
    public boolean put(int document, String text) {
        String before = documents.put(document, text);
        if (before != null) {
            forget(document, before);
        }
        for (String word : Set.copyOf(ScanningIndex.words(text))) {
            byWord.computeIfAbsent(word, _ -> new TreeSet<>()).add(document);
        }
        return before != null;
    }

    private void forget(int document, String text) {
        for (String word : Set.copyOf(ScanningIndex.words(text))) {
            byWord.computeIfPresent(word, (_, of) -> {
                of.remove(document);
                return of.isEmpty() ? null : of;
            });
        }
    }

    @Override
    public void remove(int document) throws UnknownDocumentException {
        forget(document, text(document));
        documents.remove(document);
    }

    @Override
    public List<Integer> containing(String word) {
        NavigableSet<Integer> found = byWord.get(word);
        return found == null ? List.of() : List.copyOf(found);
    }

    @Override
    public List<String> completions(String prefix, int max) {
        List<String> found = new ArrayList<>();
        if (byWord instanceof NavigableMap<String, NavigableSet<Integer>> sorted) {
            for (String word : sorted.tailMap(prefix, true).keySet()) {
                if (!word.startsWith(prefix) || found.size() == max) {
                    break;
                }
                found.add(word);
            }
            return List.copyOf(found);
        }
        return byWord.keySet().stream().filter(w -> w.startsWith(prefix)).sorted().limit(max).toList();
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
