package tutti.macro.example;

import java.util.List;
import tutti.macro.call.Read;
import tutti.macro.call.Write;

/**
 * A small full-text index: an interface whose implementations are good at different things, which is what a
 * Macro-component is for. Words are runs of letters and digits, in lower case.
 */
public interface SearchIndex {
    /**
     * Adds a document, or replaces the one of this number.
     *
     * @return whether there was one
     */
    @Write
    boolean put(int document, String text);

    /**
     * Removes a document.
     *
     * @throws UnknownDocumentException if there is none of this number
     */
    @Write
    void remove(int document) throws UnknownDocumentException;

    /** Numbers of the documents that contain the word, ascending. */
    @Read
    List<Integer> containing(String word);

    /** Words that begin with the prefix, in order, at most so many. */
    @Read
    List<String> completions(String prefix, int max);

    /**
     * The text of a document.
     *
     * @throws UnknownDocumentException if there is none of this number
     */
    @Read
    String text(int document) throws UnknownDocumentException;

    /** How many documents there are. */
    @Read
    int size();

    /** There is no such document. */
    final class UnknownDocumentException extends Exception {
        private static final long serialVersionUID = 1;

        /** Says which. */
        public UnknownDocumentException(int document) {
            super("there is no document " + document);
        }
    }
}
