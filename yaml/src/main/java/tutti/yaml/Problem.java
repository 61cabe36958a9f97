package tutti.yaml;

/**
 * One thing that is wrong with a file.
 *
 * @param file where
 * @param line counted from 1; 0 if it is not about one line
 * @param key full path of the key, or empty if it is not about one
 * @param reason follows the key in a sentence
 * @param remedy what to write instead: the nearest valid key, the valid range; may be empty
 */
public record Problem(String file, int line, String key, String reason, String remedy) {
    @Override
    public String toString() {
        return file + (line > 0 ? ":" + line : "") + ": " + (key.isEmpty() ? "" : key + " ") + reason
                + (remedy.isEmpty() ? "" : "; " + remedy);
    }
}
