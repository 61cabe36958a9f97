package tutti.sim.world.mutant;

import static org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder.request;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * A class that is broken on purpose, and the test that must fail for it: for what no scenario of the simulated world reaches. All
 * classes of Tutti, the test among them, are loaded anew with the edit, and the test is run from there.
 *
 * @param name lower-case words with hyphens between them
 * @param what is wrong, in words
 * @param edit that makes it so
 * @param test full name of the class of the test
 * @param method of the test
 */
record BrokenClass(String name, String what, Edit edit, String test, String method) {
    private static final List<String> OWN = List.of("tutti.");

    /**
     * What the test says with the class broken, one text for each of its failures; none if it passes.
     *
     * @throws IllegalStateException if the class has changed so that the edit does not fit any more
     */
    List<String> failures() throws ClassNotFoundException {
        return failures(List.of(edit));
    }

    /** What the test says with nothing broken. */
    List<String> failuresWhenSound() throws ClassNotFoundException {
        return failures(List.of());
    }

    private List<String> failures(List<Edit> edits) throws ClassNotFoundException {
        MutantLoader loader = new MutantLoader(OWN, edits);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(loader);
        try {
            Class<?> loaded = loader.loadClass(test);
            SummaryGeneratingListener listener = new SummaryGeneratingListener();
            LauncherFactory.create().execute(request()
                    .selectors(DiscoverySelectors.selectMethod(loaded, method(loaded))).build(), listener);
            TestExecutionSummary summary = listener.getSummary();
            List<String> failures = new ArrayList<>();
            summary.getFailures().forEach(failure -> failures.add(String.valueOf(failure.getException())));
            if (summary.getTestsStartedCount() == 0 && failures.isEmpty()) {
                throw new IllegalStateException("there was nothing to run in " + this);
            }
            return failures;
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    /** The method, which may be inherited, as those of contracts are. */
    private Method method(Class<?> in) {
        for (Class<?> type = in; type != null; type = type.getSuperclass()) {
            for (Method each : Arrays.asList(type.getDeclaredMethods())) {
                if (each.getName().equals(method) && !each.isSynthetic()) {
                    return each;
                }
            }
        }
        throw new IllegalStateException("test " + test + " has no method " + method);
    }

    @Override
    public String toString() {
        return name;
    }
}
