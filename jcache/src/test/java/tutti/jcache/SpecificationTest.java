package tutti.jcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.jsr107.tck.CacheTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.runner.JUnitCore;
import org.junit.runner.Result;

/** The tests that the specification comes with ({@code javax.cache:cache-tests}), all but those of its own classes. */
@Tag("long")
class SpecificationTest {
    /** So many there are; those of what is optional and not supported pass by doing nothing. */
    private static final int TESTS = 400;

    private final List<String> set = new ArrayList<>();

    /** They ask by such properties what to unwrap. */
    @BeforeEach
    void nameTheClasses() {
        name("javax.cache.CacheManager", GridCacheManager.class);
        name("javax.cache.Cache", GridCache.class);
        name("javax.cache.Cache.Entry", Backing.Written.class);
    }

    private void name(String property, Class<?> type) {
        System.setProperty(property, type.getName());
        set.add(property);
    }

    @AfterEach
    void forgetTheClasses() {
        set.forEach(System::clearProperty);
    }

    @Test
    void theTestsOfTheSpecificationPass() throws IOException, URISyntaxException, ClassNotFoundException {
        Result result = new JUnitCore().run(classes().toArray(Class<?>[]::new));
        assertEquals(List.of(), result.getFailures().stream()
                .map(failure -> failure.getTestHeader() + ": " + failure.getTrace()).toList());
        assertTrue(result.getRunCount() > TESTS, result.getRunCount() + " tests");
    }

    private static List<Class<?>> classes() throws IOException, URISyntaxException, ClassNotFoundException {
        List<Class<?>> classes = new ArrayList<>();
        Path jar = Path.of(CacheTest.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (JarFile all = new JarFile(jar.toFile())) {
            for (JarEntry entry : all.stream().toList()) {
                String name = entry.getName();
                if (name.startsWith("org/jsr107/tck/") && name.endsWith("Test.class")) {
                    Class<?> found = Class.forName(name.replace('/', '.').replace(".class", ""));
                    // What others extend has no tests of its own.
                    if (!Modifier.isAbstract(found.getModifiers()) && !found.getSimpleName().startsWith("Abstract")) {
                        classes.add(found);
                    }
                }
            }
        }
        return classes;
    }
}
