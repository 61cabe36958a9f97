package tutti.suites;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/** Writes each JUnit test's outcome into the file that OUTCOMES names as soon as it is known, a line of JSON for each. Any thread. */
public final class Outcomes implements TestExecutionListener {
    private static final int MESSAGE_CHARS = 600;
    private final Path file = Path.of(System.getenv("OUTCOMES"));

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            write(test, "begun", "");
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        if (test.isTest()) {
            write(test, "skipped", "");
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (test.isTest()) {
            write(test, switch (result.getStatus()) {
                case SUCCESSFUL -> "passed";
                case FAILED -> "failed";
                case ABORTED -> "skipped";
            }, result.getThrowable().map(Throwable::toString).orElse(""));
        }
    }

    private synchronized void write(TestIdentifier test, String outcome, String message) {
        String name = test.getUniqueId().replaceFirst("^\\[engine:[^]]*]/", "").replaceAll("\\[[a-z-]+:([^]]*)]", "$1");
        String line = "{\"test\": " + quoted(name) + ", \"outcome\": \"" + outcome + "\", \"message\": "
                + quoted(message.substring(0, Math.min(MESSAGE_CHARS, message.length()))) + "}\n";
        try {
            Files.writeString(file, line, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException full) {
            throw new UncheckedIOException(full);
        }
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
