package tutti.sim.world.mutant;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Loads classes once more from the same class files, some of them edited. All others are shared. */
final class MutantLoader extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    /**
     * What decides about transactions, and the world around it. What knows nothing of these classes (kernel, hosts, network, disks,
     * faults, the seam of {@code runtime}, other libraries) is shared.
     */
    static final List<String> WORLD = List.of("tutti.core.", "tutti.group.", "tutti.order.", "tutti.node.",
            "tutti.check.", "tutti.workload.", "tutti.sim.world.", "io.microraft.");

    private final List<String> own;
    private final Map<String, byte[]> edited = new TreeMap<>();

    /**
     * With edits.
     *
     * @param own beginnings of the names of the classes that it loads itself
     * @throws IllegalStateException if one of them does not fit the class that it is about
     */
    MutantLoader(List<String> own, List<Edit> edits) {
        super(MutantLoader.class.getClassLoader());
        // As in production: what only an assertion of a test's virtual machine would find does not count.
        setDefaultAssertionStatus(false);
        this.own = List.copyOf(own);
        for (Edit edit : edits) {
            if (own.stream().noneMatch(edit.type()::startsWith)) {
                throw new IllegalStateException("the edit '" + edit + "' is about a class that mutants share");
            }
            byte[] present = edited.containsKey(edit.type()) ? edited.get(edit.type()) : bytes(edit.type());
            edited.put(edit.type(), edit.in(present));
        }
    }

    private byte[] bytes(String name) {
        try (InputStream in = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
            if (in == null) {
                throw new IllegalStateException("there is no class " + name);
            }
            return in.readAllBytes();
        } catch (IOException unreadable) {
            throw new UncheckedIOException("cannot read the class " + name, unreadable);
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (own.stream().noneMatch(name::startsWith)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                byte[] bytes = edited.containsKey(name) ? edited.get(name) : bytesOf(name);
                loaded = defineClass(name, bytes, 0, bytes.length);
            }
            return loaded;
        }
    }

    private byte[] bytesOf(String name) throws ClassNotFoundException {
        try {
            return bytes(name);
        } catch (IllegalStateException none) {
            throw new ClassNotFoundException(name, none);
        }
    }
}
