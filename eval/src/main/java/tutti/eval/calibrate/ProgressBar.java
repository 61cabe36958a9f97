package tutti.eval.calibrate;

import java.util.Locale;

/** How far something is, as a line. */
final class ProgressBar {
    private static final int WIDTH = 30;

    private ProgressBar() {}

    /** A bar with percentage and seconds. */
    static String text(String what, double done, double all, double seconds) {
        double share = Math.clamp(all > 0 ? done / all : 1, 0, 1);
        int full = (int) (WIDTH * share);
        return String.format(Locale.ROOT, "[%s%s] %s: %.0f%%, %.0f s", "=".repeat(full), " ".repeat(WIDTH - full), what,
                100 * share, seconds);
    }
}
