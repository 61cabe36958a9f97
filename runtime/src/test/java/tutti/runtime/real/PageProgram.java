package tutti.runtime.real;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;

/**
 * A program that a page shows, and what the page says that it prints.
 *
 * @param name of its class
 * @param source as the page has it
 * @param prints as the page has it
 */
public record PageProgram(String name, String source, String prints) {
    private static final Pattern CLASS = Pattern.compile("public class (\\w+)");

    /**
     * The first program behind a heading, and the first text behind that.
     *
     * @throws IOException if the page cannot be read, or has none
     */
    public static PageProgram of(Path page, String heading) throws IOException {
        String text = Files.readString(page);
        int from = text.indexOf(heading + "\n");
        Matcher source = block("java", text);
        Matcher prints = block("text", text);
        if (from < 0 || !source.find(from) || !prints.find(source.end())) {
            throw new IOException(page + " has no program behind '" + heading + "', or does not say what it prints");
        }
        Matcher name = CLASS.matcher(source.group(1));
        if (!name.find()) {
            throw new IOException("the program of " + page + " has no public class");
        }
        return new PageProgram(name.group(1), source.group(1), prints.group(1));
    }

    private static Matcher block(String kind, String text) {
        return Pattern.compile("```" + kind + "\n(.*?)```", Pattern.DOTALL).matcher(text);
    }

    /** The same with other words in it: somebody else may use the page's ports here. */
    public PageProgram with(String word, Object other) {
        return new PageProgram(name, source.replace(word, other.toString()), prints);
    }

    /**
     * Compiles it with the present class path and without a warning, and runs it.
     *
     * @param directory for its files
     * @return what it has printed
     * @throws IOException if it does not compile, saying why
     */
    public String run(Path directory) throws IOException, ReflectiveOperationException {
        Path file = Files.writeString(directory.resolve(name + ".java"), source);
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        // Annotations of libraries that have annotations which are not there are nobody's matter here.
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, errors, "-proc:none", "-parameters",
                "-Xlint:all,-path,-classfile", "-Werror", "-d", directory.toString(), "-cp",
                System.getProperty("java.class.path"),
                file.toString());
        if (status != 0) {
            throw new IOException(errors.toString(StandardCharsets.UTF_8));
        }
        PrintStream out = System.out;
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{directory.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            Thread.currentThread().setContextClassLoader(loader);
            loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(out);
            Thread.currentThread().setContextClassLoader(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }
}
