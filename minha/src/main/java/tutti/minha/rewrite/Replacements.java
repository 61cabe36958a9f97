package tutti.minha.rewrite;

import java.io.InputStream;
import java.io.PrintStream;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Clock;
import java.time.InstantSource;
import java.time.ZoneId;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.jdk.lang.Monitors;
import tutti.minha.jdk.lang.System;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.net.Names;
import tutti.minha.jdk.time.SimulatedClock;
import tutti.minha.jdk.util.concurrent.Futures;
import tutti.sim.thread.SimThread;

/** What rewritten programs call in the place of the JDK. Public, since they are in packages of their own. */
@SuppressWarnings({"JavaUtilDate", "JavaTimeDefaultTimeZone"})
public final class Replacements {
    private Replacements() {}

    /** See {@link java.lang.System#nanoTime}. */
    @Replaces(owner = java.lang.System.class)
    public static long nanoTime() {
        return System.nanoTime();
    }

    /** See {@link java.lang.System#currentTimeMillis}; also the time of a {@link java.util.Date}. */
    @Replaces(owner = java.lang.System.class)
    @Completes(java.util.Date.class)
    public static long currentTimeMillis() {
        return System.currentTimeMillis();
    }

    /** See {@link java.lang.System#exit}. */
    @Replaces(owner = java.lang.System.class)
    public static void exit(int status) {
        System.exit(status);
    }

    /** See {@link java.lang.System#gc}. */
    @Replaces(owner = java.lang.System.class)
    public static void gc() {
        System.gc();
    }

    /** See {@link java.lang.System#identityHashCode}. */
    @Replaces(owner = java.lang.System.class)
    public static int identityHashCode(@Nullable Object of) {
        return System.identityHashCode(of);
    }

    /** See {@link java.lang.System#lineSeparator}. */
    @Replaces(owner = java.lang.System.class)
    public static String lineSeparator() {
        return System.lineSeparator();
    }

    /** {@code System.out}. */
    public static PrintStream out() {
        return Jvm.current().out();
    }

    /** {@code System.err}. */
    public static PrintStream err() {
        return Jvm.current().err();
    }

    /** {@code System.in}. */
    public static InputStream in() {
        return System.in;
    }

    /** See {@link Runtime#availableProcessors}. */
    @Replaces(owner = Runtime.class, instance = true)
    public static int availableProcessors(Runtime runtime) {
        return Jvm.current().machine().host().config().cores();
    }

    /** See {@link Runtime#exit}. */
    @Replaces(owner = Runtime.class, instance = true)
    public static void exit(Runtime runtime, int status) {
        System.exit(status);
    }

    /** See {@link Runtime#halt}. */
    @Replaces(owner = Runtime.class, instance = true)
    public static void halt(Runtime runtime, int status) {
        Jvm.current().halt(status);
        Thread.yield();
    }

    /** See {@link Runtime#gc}. */
    @Replaces(owner = Runtime.class, instance = true)
    public static void gc(Runtime runtime) {
        System.gc();
    }

    /** See {@link Runtime#addShutdownHook}. */
    @Replaces(owner = Runtime.class, instance = true)
    public static void addShutdownHook(Runtime runtime, Thread hook) {
        Jvm.current().addShutdownHook(hook);
    }

    /** See {@link Runtime#removeShutdownHook}. */
    @Replaces(owner = Runtime.class, instance = true)
    public static boolean removeShutdownHook(Runtime runtime, Thread hook) {
        return Jvm.current().removeShutdownHook(hook);
    }

    /** The seed of a random generator that is given none. */
    @Completes({Random.class, SplittableRandom.class})
    public static long seed() {
        return Jvm.current().nextSeed();
    }

    /** {@code new Random()} as a method reference. */
    public static Random newRandom() {
        return new Random(seed());
    }

    /** See {@link Math#random}. */
    @Replaces(owner = Math.class)
    public static double random() {
        return new Random(seed()).nextDouble();
    }

    /** See {@link UUID#randomUUID}. */
    @Replaces(owner = UUID.class)
    public static UUID randomUUID() {
        long version = (seed() & ~0xF000L) | 0x4000L;
        long variant = (seed() & 0x3FFFFFFFFFFFFFFFL) | 0x8000000000000000L;
        return new UUID(version, variant);
    }

    /** See {@link Clock#systemUTC}. */
    @Replaces(owner = Clock.class)
    public static Clock systemUTC() {
        return SimulatedClock.systemUTC();
    }

    /** See {@link Clock#systemDefaultZone}. */
    @Replaces(owner = Clock.class)
    public static Clock systemDefaultZone() {
        return SimulatedClock.systemDefaultZone();
    }

    /** See {@link Clock#system}. */
    @Replaces(owner = Clock.class)
    public static Clock system(ZoneId zone) {
        return SimulatedClock.system(zone);
    }

    /** See {@link InstantSource#system}. */
    @Replaces(owner = InstantSource.class)
    public static InstantSource system() {
        return SimulatedClock.systemUTC();
    }

    /** See {@link ZoneId#systemDefault}. */
    @Replaces(owner = ZoneId.class)
    public static ZoneId systemDefault() {
        return java.time.ZoneOffset.UTC;
    }

    /** See {@link InetAddress#getByName}. */
    @Replaces(owner = InetAddress.class)
    public static InetAddress getByName(@Nullable String host) throws UnknownHostException {
        return Names.getByName(host);
    }

    /** See {@link InetAddress#getAllByName}. */
    @Replaces(owner = InetAddress.class)
    public static InetAddress[] getAllByName(@Nullable String host) throws UnknownHostException {
        return Names.getAllByName(host);
    }

    /** See {@link InetAddress#getLocalHost}. */
    @Replaces(owner = InetAddress.class)
    public static InetAddress getLocalHost() {
        return Names.getLocalHost();
    }

    /** See {@link InetAddress#getLoopbackAddress}. */
    @Replaces(owner = InetAddress.class)
    public static InetAddress getLoopbackAddress() {
        return Names.getLoopbackAddress();
    }

    /** See {@link InetAddress#getHostName}. */
    @Replaces(owner = InetAddress.class, instance = true)
    public static String getHostName(InetAddress address) {
        return Names.getHostName(address);
    }

    /** See {@link InetAddress#getCanonicalHostName}. */
    @Replaces(owner = InetAddress.class, instance = true)
    public static String getCanonicalHostName(InetAddress address) {
        return Names.getHostName(address);
    }

    /** See {@link InetAddress#getHostName}. */
    @Replaces(owner = Inet4Address.class, instance = true)
    public static String getHostName(Inet4Address address) {
        return Names.getHostName(address);
    }

    /** See {@link InetSocketAddress#getHostName}. */
    @Replaces(owner = InetSocketAddress.class, instance = true)
    public static String getHostName(InetSocketAddress address) {
        InetAddress resolved = address.getAddress();
        return resolved == null ? address.getHostString() : Names.getHostName(resolved);
    }

    /**
     * The address for {@link InetSocketAddress#InetSocketAddress(String, int)}.
     *
     * @throws IllegalArgumentException if there is no such machine; the JDK would make an address that is not resolved
     */
    public static InetAddress resolve(String host) {
        try {
            return Names.getByName(host);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("no machine is named '" + host + "', and addresses that are not resolved"
                    + " are not simulated; use InetSocketAddress.createUnresolved if it is meant so", e);
        }
    }

    /** See {@link TimeUnit#sleep}. */
    @Replaces(owner = TimeUnit.class, instance = true)
    public static void sleep(TimeUnit unit, long time) throws InterruptedException {
        Thread.sleepNanos(Math.max(0, unit.toNanos(time)));
    }

    /** See {@link TimeUnit#timedJoin}. */
    @Replaces(owner = TimeUnit.class, instance = true)
    public static void timedJoin(TimeUnit unit, Thread thread, long time) throws InterruptedException {
        if (time > 0) {
            thread.join(java.time.Duration.ofNanos(unit.toNanos(time)));
        }
    }

    /** See {@link TimeUnit#timedWait}. */
    @Replaces(owner = TimeUnit.class, instance = true)
    public static void timedWait(TimeUnit unit, Object on, long time) throws InterruptedException {
        if (time > 0) {
            Monitors.await(on, unit.toMillis(time), (int) (unit.toNanos(time) % 1_000_000));
        }
    }

    /** See {@link Future#get()}. */
    @Replaces(owner = Future.class, instance = true)
    public static <V> @Nullable V get(Future<V> future) throws InterruptedException, ExecutionException {
        return Futures.get(future);
    }

    /** See {@link Future#get(long, TimeUnit)}. */
    @Replaces(owner = Future.class, instance = true)
    public static <V> @Nullable V get(Future<V> future, long time, TimeUnit unit) throws InterruptedException,
            ExecutionException, TimeoutException {
        return Futures.get(future, time, unit);
    }

    /** See {@link CompletableFuture#get()}. */
    @Replaces(owner = CompletableFuture.class, instance = true)
    public static <V> @Nullable V get(CompletableFuture<V> future) throws InterruptedException, ExecutionException {
        return Futures.get(future);
    }

    /** See {@link CompletableFuture#get(long, TimeUnit)}. */
    @Replaces(owner = CompletableFuture.class, instance = true)
    public static <V> @Nullable V get(CompletableFuture<V> future, long time, TimeUnit unit)
            throws InterruptedException, ExecutionException, TimeoutException {
        return Futures.get(future, time, unit);
    }

    /** See {@link CompletableFuture#join}. */
    @Replaces(owner = CompletableFuture.class, instance = true)
    public static <V> @Nullable V join(CompletableFuture<V> future) {
        return Futures.join(future);
    }

    /** See {@link CompletableFuture#orTimeout}. */
    @Replaces(owner = CompletableFuture.class, instance = true)
    public static <V> CompletableFuture<V> orTimeout(CompletableFuture<V> future, long time, TimeUnit unit) {
        return Futures.orTimeout(future, time, unit);
    }

    /** See {@link CompletableFuture#completeOnTimeout}. */
    @Replaces(owner = CompletableFuture.class, instance = true)
    public static <V> CompletableFuture<V> completeOnTimeout(CompletableFuture<V> future, V value, long time,
            TimeUnit unit) {
        return Futures.completeOnTimeout(future, value, time, unit);
    }

    /** See {@link CompletableFuture#defaultExecutor}; also that of the methods that are given none. */
    @Replaces(owner = CompletableFuture.class, instance = true)
    public static Executor defaultExecutor(CompletableFuture<?> future) {
        return Futures.executor();
    }

    /** The executor of asynchronous methods that are given none. */
    public static Executor executor() {
        return Futures.executor();
    }

    /** See {@link CompletableFuture#delayedExecutor(long, TimeUnit)}. */
    @Replaces(owner = CompletableFuture.class)
    public static Executor delayedExecutor(long time, TimeUnit unit) {
        return Futures.delayedExecutor(time, unit, Futures.executor());
    }

    /** See {@link CompletableFuture#delayedExecutor(long, TimeUnit, Executor)}. */
    @Replaces(owner = CompletableFuture.class)
    public static Executor delayedExecutor(long time, TimeUnit unit, Executor executor) {
        return Futures.delayedExecutor(time, unit, executor);
    }

    /** A program catches everything: not the end of its thread. */
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    public static <E extends Throwable> void caught(Throwable caught) throws E {
        if (Thread.isSimulated() && SimThread.current().isKilled()) {
            throw (E) caught;
        }
    }

    /** A program comes to something that is not simulated. */
    @SuppressWarnings("DoNotCallSuggester")
    public static void refuse(String what) {
        throw new UnsupportedOperationException(what);
    }
}
