package tutti.minha.rewrite;

import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What becomes of what in programs that are rewritten: types, methods, and what is refused. */
final class Rules {
    /** Where the mirrors are. */
    static final String MIRRORS = "tutti/minha/jdk/";

    private static final String LANG = "java/lang/";
    private static final String UTIL = "java/util/concurrent/";
    private static final List<String> LANG_TYPES = List.of("Thread", "Thread$UncaughtExceptionHandler",
            "Thread$Builder");
    private static final List<String> UTIL_TYPES = List.of("ArrayBlockingQueue", "CountDownLatch", "CyclicBarrier",
            "DelayQueue", "ExecutorCompletionService", "Executors", "FutureTask", "LinkedBlockingQueue",
            "PriorityBlockingQueue", "RejectedExecutionHandler", "ScheduledThreadPoolExecutor", "Semaphore",
            "SynchronousQueue", "ThreadFactory", "ThreadLocalRandom", "ThreadPoolExecutor",
            "ThreadPoolExecutor$AbortPolicy", "ThreadPoolExecutor$CallerRunsPolicy",
            "ThreadPoolExecutor$DiscardPolicy", "ThreadPoolExecutor$DiscardOldestPolicy", "locks/LockSupport",
            "locks/ReentrantLock", "locks/ReentrantReadWriteLock", "locks/ReentrantReadWriteLock$ReadLock",
            "locks/ReentrantReadWriteLock$WriteLock");
    private static final List<String> NET_TYPES = List.of("DatagramSocket", "MulticastSocket", "ServerSocket",
            "Socket");

    /** Beginnings of names of types whose use is refused, and what to do instead. */
    private static final Map<String, String> REFUSED = refused();
    /** Methods that are refused of types that are not. */
    private static final Set<String> REFUSED_METHODS = Set.of("java/lang/Runtime.exec", "java/lang/System.setOut",
            "java/lang/System.setErr", "java/lang/System.setIn", "java/lang/System.console",
            "java/lang/System.loadLibrary", "java/lang/System.load", "java/net/URL.openConnection",
            "java/net/URL.openStream", "java/net/InetAddress.isReachable");

    private static final Map<String, String> TYPES = types();
    private static final Map<String, Target> METHODS = methods();
    private static final Map<String, String> COMPLETIONS = completions();

    private Rules() {}

    /** A method that is called instead, in {@link Replacements}. */
    record Target(String name, MethodTypeDesc type, boolean instance) {}

    private static Map<String, String> types() {
        Map<String, String> types = new TreeMap<>();
        LANG_TYPES.forEach(name -> types.put(LANG + name, MIRRORS + "lang/" + name));
        types.put("java/lang/Thread$Builder$OfVirtual", MIRRORS + "lang/Thread$Builder");
        types.put("java/lang/Thread$Builder$OfPlatform", MIRRORS + "lang/Thread$Builder");
        UTIL_TYPES.forEach(name -> types.put(UTIL + name, MIRRORS + "util/concurrent/" + name));
        NET_TYPES.forEach(name -> types.put("java/net/" + name, MIRRORS + "net/" + name));
        return Map.copyOf(types);
    }

    private static Map<String, String> refused() {
        Map<String, String> refused = new LinkedHashMap<>();
        String channels = "use the sockets of java.net";
        for (String name : List.of("SocketChannel", "ServerSocketChannel", "DatagramChannel", "Selector",
                "AsynchronousSocketChannel", "AsynchronousServerSocketChannel", "AsynchronousFileChannel", "Pipe")) {
            refused.put("java/nio/channels/" + name, channels);
        }
        refused.put("java/net/http/", channels);
        refused.put("javax/net/", channels);
        refused.put("java/net/NetworkInterface", "pass null: a simulated machine has one");
        refused.put("java/util/concurrent/ForkJoin", "use Executors.newFixedThreadPool");
        refused.put("java/util/concurrent/Recursive", "use Executors.newFixedThreadPool");
        refused.put("java/util/concurrent/CountedCompleter", "use Executors.newFixedThreadPool");
        refused.put("java/util/concurrent/StructuredTaskScope", "use Executors.newVirtualThreadPerTaskExecutor");
        refused.put("java/util/concurrent/Phaser", "use CyclicBarrier");
        refused.put("java/util/concurrent/Exchanger", "use SynchronousQueue");
        refused.put("java/util/concurrent/LinkedTransferQueue", "use LinkedBlockingQueue");
        refused.put("java/util/concurrent/LinkedBlockingDeque", "use LinkedBlockingQueue");
        refused.put("java/util/concurrent/SubmissionPublisher", "use LinkedBlockingQueue");
        refused.put("java/util/concurrent/locks/StampedLock", "use ReentrantReadWriteLock");
        refused.put("java/util/concurrent/locks/AbstractQueued", "use ReentrantLock");
        refused.put("java/util/Timer", "use Executors.newScheduledThreadPool");
        refused.put("java/lang/ProcessBuilder", "a simulated process cannot begin a real one");
        refused.put("java/lang/ThreadGroup", "there are no thread groups");
        refused.put("java/security/SecureRandom", "use java.util.Random, which the simulation seeds");
        refused.put("sun/misc/Unsafe", "use java.lang.invoke.VarHandle");
        refused.put("sun/misc/Signal", "use Runtime.addShutdownHook");
        return refused;
    }

    private static Map<String, Target> methods() {
        Map<String, Target> methods = new TreeMap<>();
        for (Method method : Replacements.class.getDeclaredMethods()) {
            Replaces replaces = method.getAnnotation(Replaces.class);
            if (replaces != null) {
                MethodTypeDesc type = type(method);
                MethodTypeDesc original = replaces.instance() ? type.dropParameterTypes(0, 1) : type;
                String name = replaces.name().isEmpty() ? method.getName() : replaces.name();
                methods.put(key(internal(replaces.owner()), name, original.descriptorString()),
                        new Target(method.getName(), type, replaces.instance()));
            }
        }
        return Map.copyOf(methods);
    }

    private static Map<String, String> completions() {
        Map<String, String> completions = new TreeMap<>();
        for (Method method : Replacements.class.getDeclaredMethods()) {
            Completes completes = method.getAnnotation(Completes.class);
            if (completes != null) {
                Arrays.stream(completes.value()).forEach(type -> completions.put(internal(type), method.getName()));
            }
        }
        return Map.copyOf(completions);
    }

    private static MethodTypeDesc type(Method method) {
        return MethodTypeDesc.of(method.getReturnType().describeConstable().orElseThrow(),
                Arrays.stream(method.getParameterTypes()).map(type -> type.describeConstable().orElseThrow())
                        .toArray(ClassDesc[]::new));
    }

    private static String internal(Class<?> type) {
        return type.getName().replace('.', '/');
    }

    private static String key(String owner, String name, String descriptor) {
        return owner + "." + name + descriptor;
    }

    /** The mirrors of types, by internal names. */
    static Map<String, String> renamed() {
        return TYPES;
    }

    /** What is called instead of a method, whose descriptor names mirrors already; null for itself. */
    static @Nullable Target method(String owner, String name, String descriptor) {
        return METHODS.get(key(owner, name, descriptor));
    }

    /** The method that gives the argument of a constructor which is called without; null if it needs none. */
    static @Nullable String completion(String owner) {
        return COMPLETIONS.get(owner);
    }

    /**
     * Why a method or a constructor cannot be called in the simulation, or null if it can.
     *
     * @param owner internal name; a mirror's, or not a mirrored type
     */
    static @Nullable String refusal(String owner, String name, String descriptor) {
        if (owner.startsWith(MIRRORS)) {
            return hasMember(owner, name, descriptor)
                    ? null
                    : "its mirror " + owner.replace('/', '.') + " does not have it";
        }
        if (REFUSED_METHODS.contains(owner + "." + name)) {
            return "it would leave the simulation";
        }
        for (Map.Entry<String, String> entry : REFUSED.entrySet()) {
            if (owner.startsWith(entry.getKey())) {
                return entry.getValue();
            }
        }
        return null;
    }

    private static boolean hasMember(String owner, String name, String descriptor) {
        try {
            Class<?> mirror = Class.forName(owner.replace('/', '.'), false, Rules.class.getClassLoader());
            boolean constructor = name.equals("<init>");
            for (Class<?> type = mirror; type != null; type = type.getSuperclass()) {
                Executable[] members = constructor ? type.getDeclaredConstructors() : type.getDeclaredMethods();
                if (Arrays.stream(members).anyMatch(member -> matches(member, name, descriptor))
                        || (!constructor && Arrays.stream(type.getInterfaces()).flatMap(
                                each -> Arrays.stream(each.getMethods()))
                                .anyMatch(member -> matches(member, name, descriptor)))) {
                    return true;
                }
                if (constructor) {
                    return false;
                }
            }
            return mirror.isInterface() && Arrays.stream(mirror.getMethods())
                    .anyMatch(member -> matches(member, name, descriptor));
        } catch (ClassNotFoundException _) {
            return false;
        }
    }

    private static boolean matches(Executable member, String name, String descriptor) {
        if (!(member instanceof Method method)) {
            return MethodTypeDesc.of(ClassDesc.ofDescriptor("V"), Arrays.stream(member.getParameterTypes())
                    .map(type -> type.describeConstable().orElseThrow()).toArray(ClassDesc[]::new)).descriptorString()
                    .equals(descriptor);
        }
        return method.getName().equals(name) && type(method).descriptorString().equals(descriptor);
    }
}
