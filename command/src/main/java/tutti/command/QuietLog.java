package tutti.command;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.AppenderBase;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The log of a program that does the same many times over: nothing is logged, except that {@link #during} keeps what one piece
 * of work logs. With {@code --verbose} the log goes to standard error as ever, and is kept as well. Closing it restores what
 * was.
 *
 * <p>
 * Thread rules: one such log at a time in a virtual machine; {@link #during} is called by one thread at a time.
 */
public final class QuietLog implements AutoCloseable {
    private static final String OURS = "tutti";
    private static final Pattern LINE_BREAK = Pattern.compile("\\s*\\R\\s*");

    private final boolean verbose = System.getProperty("tutti.log") != null;
    private final Logger root;
    private final Logger ours;
    private final @Nullable Level rootLevel;
    private final @Nullable Level oursLevel;
    private final List<Appender<ILoggingEvent>> usual = new ArrayList<>();

    /** From now on nothing is logged. */
    public QuietLog() {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        ours = context.getLogger(OURS);
        rootLevel = root.getLevel();
        oursLevel = ours.getLevel();
        for (Iterator<Appender<ILoggingEvent>> all = root.iteratorForAppenders(); all.hasNext();) {
            usual.add(all.next());
        }
        if (!verbose) {
            usual.forEach(root::detachAppender);
            levels(Level.OFF);
        }
    }

    private void levels(Level level) {
        root.setLevel(level);
        ours.setLevel(level);
    }

    /**
     * Does something on this thread, and answers what it logged at level INFO and above: the last lines.
     *
     * @param linesMax how many at most
     * @param when stands before each line
     */
    public List<String> during(int linesMax, Supplier<String> when, Runnable work) {
        Keeper keeper = new Keeper(linesMax, when);
        keeper.setContext(root.getLoggerContext());
        keeper.start();
        root.addAppender(keeper);
        if (!verbose) {
            levels(Level.INFO);
        }
        try {
            work.run();
        } finally {
            if (!verbose) {
                levels(Level.OFF);
            }
            root.detachAppender(keeper);
            keeper.stop();
        }
        return List.copyOf(keeper.lines);
    }

    @Override
    public void close() {
        if (!verbose) {
            root.setLevel(rootLevel);
            ours.setLevel(oursLevel);
            usual.forEach(root::addAppender);
        }
    }

    private static final class Keeper extends AppenderBase<ILoggingEvent> {
        private final Thread thread = Thread.currentThread();
        private final int linesMax;
        private final Supplier<String> when;
        private final Deque<String> lines = new ArrayDeque<>();

        Keeper(int linesMax, Supplier<String> when) {
            this.linesMax = linesMax;
            this.when = when;
        }

        @Override
        protected void append(ILoggingEvent event) {
            if (!Thread.currentThread().equals(thread)) {
                return;
            }
            if (lines.size() == linesMax) {
                lines.removeFirst();
            }
            String name = event.getLoggerName();
            lines.add(when.get() + " " + event.getLevel() + " " + name.substring(name.lastIndexOf('.') + 1) + ": "
                    + LINE_BREAK.matcher(event.getFormattedMessage().strip()).replaceAll(" "));
        }
    }
}
