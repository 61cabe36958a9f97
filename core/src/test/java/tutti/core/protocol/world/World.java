package tutti.core.protocol.world;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.TransactionRequest.Placement;
import tutti.core.protocol.Trait;

/**
 * A few replicas of one protocol under a random scheduler: which site does what next (a client's statement, ordering or
 * delivering a message, applying, a timer, a fault) is drawn from a seed, with weights that are drawn too, so that runs
 * differ in character. A run has a phase with faults, a phase without in which everything must end, and a last one in
 * which the replicas must still be able to commit. Everything is checked as it happens or by {@link History}.
 *
 * <p>
 * The model is that of {@code tutti.node}: messages of a site are ordered in the order of its asking; of those not ordered
 * when it crashes some are ordered later and some never; a crash may undo what the engine committed last; a restarted
 * protocol begins from an earlier snapshot or from nothing, and is delivered the order from there. Views come late, and
 * may be wrong for a while. Some positions are the world's own.
 */
final class World {
    /** A message of the order, or of the world itself if there is no payload. */
    record Entry(int sender, byte @Nullable [] payload, long incarnation, boolean hello) {}

    private enum Action {
        STEP, BEGIN, SEQUENCE, DELIVER, VISIBLE, APPLY, PREPARE, EVENT, RECEIVE, GUESS, VIEW, TIMER,
        // From here on only while there are faults.
        SAVE, ROLLBACK, LOSE, CONTROL, CRASH, SUSPECT;

        static final Action[] ALL = values();
        static final int FAULTS_FROM = SAVE.ordinal();
    }

    private static final int LIVENESS_STEPS_MAX = 60_000;
    private static final int PROBES_MAX = 25;

    final SplittableRandom random;
    final List<Site> sites = new ArrayList<>();
    final List<Entry> order = new ArrayList<>();
    /** What crashed replicas had asked for and may yet be ordered. */
    final ArrayDeque<Entry> ghosts = new ArrayDeque<>();
    final History history = new History();
    final Map<String, Integer> counts;
    final ChosenProtocol protocol;
    long nowNanos;
    private final Subject subject;
    private final long seed;
    private final TreeSet<Integer> all = new TreeSet<>();
    private final int[] weights = new int[Action.ALL.length];
    /** How often an action may yet be taken. */
    private final int[] budgets = new int[Action.ALL.length];
    private final int[] speeds;
    private final int[] kinds = new int[5];
    private final int clientsMax;
    private final boolean tentative;
    private int toBegin;
    private long tags;
    private long trace;
    private boolean faults = true;

    World(long seed, Subject subject, Map<String, Integer> counts) {
        this.seed = seed;
        this.subject = subject;
        this.protocol = subject.chosen();
        this.counts = counts;
        random = new SplittableRandom(seed);
        int size = 2 + random.nextInt(3);
        for (int node = 0; node < size; node++) {
            all.add(node);
        }
        for (Action action : Action.ALL) {
            boolean fault = action.ordinal() >= Action.FAULTS_FROM;
            weights[action.ordinal()] = fault ? random.nextInt(6) : 20 + random.nextInt(400);
            budgets[action.ordinal()] = fault ? random.nextInt(12) : Integer.MAX_VALUE;
        }
        weights[Action.STEP.ordinal()] += 300;
        weights[Action.BEGIN.ordinal()] = 10 + random.nextInt(150);
        budgets[Action.CRASH.ordinal()] = random.nextInt(4);
        speeds = random.ints(size, 1, 8).toArray();
        for (int i = 0; i < kinds.length; i++) {
            kinds[i] = random.nextInt(6);
        }
        kinds[random.nextInt(kinds.length)] += 2;
        clientsMax = 1 + random.nextInt(6);
        tentative = random.nextBoolean();
        toBegin = 40 + random.nextInt(100);
        for (int node : all) {
            sites.add(new Site(this, node));
        }
        for (Site site : sites) {
            site.views.add(new TreeSet<>(all));
        }
    }

    Protocol create(int node, ReplicaWorld world) {
        return subject.maker().create(node, all, new SplittableRandom(seed + 1), world);
    }

    void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    void trace(long what, long number) {
        trace = Program.mix(trace, Program.mix(what, number));
    }

    /** Runs the seed; answers a number that is the same whenever the same has happened. */
    long run() {
        try {
            withFaults();
            heal();
            untilQuiet("after the faults");
            probe();
            untilQuiet("after the last transactions");
            history.check(protocol.claims().guarantee());
            for (Site site : sites) {
                history.compare(site.node, site.engine.state());
            }
            Shadow.check(this);
            return trace;
        } catch (AssertionError | RuntimeException broken) {
            throw new AssertionError("seed " + seed + ": " + broken.getMessage() + "\n" + describe(), broken);
        }
    }

    private String describe() {
        StringBuilder text = new StringBuilder();
        sites.forEach(site -> text.append(site).append('\n'));
        return text.toString();
    }

    // ------------------------------------------------------------------------------------------ phases

    private void withFaults() {
        // A protocol that waits for something lost needs no more clients to be caught: the steps are bounded.
        for (int step = 0; step < 6000 && (toBegin > 0 || !quiet()); step++) {
            act();
        }
        toBegin = 0;
    }

    private void heal() {
        faults = false;
        Arrays.fill(speeds, 1);
        weights[Action.DELIVER.ordinal()] = 400;
        weights[Action.VISIBLE.ordinal()] = 400;
        for (Site site : sites) {
            if (!site.up) {
                restart(site);
            }
        }
        for (Site site : sites) {
            site.views.add(new TreeSet<>(all));
        }
    }

    private boolean quiet() {
        return ghosts.isEmpty() && sites.stream().allMatch(site -> site.up && site.ready && site.quiet()
                && site.locals.isEmpty());
    }

    private void untilQuiet(String when) {
        for (int step = 0; !quiet(); step++) {
            if (step == LIVENESS_STEPS_MAX) {
                throw new AssertionError("not everything has ended " + when);
            }
            act();
        }
    }

    /** Every replica, or one of them if the protocol has a primary, can still write rows. */
    private void probe() {
        int able = 0;
        for (Site site : sites) {
            able += probe(site) ? 1 : 0;
        }
        if (able < (protocol.has(Trait.ONE_PRIMARY) ? 1 : sites.size())) {
            throw new AssertionError("only " + able + " replicas commit transactions that nobody disturbs");
        }
    }

    private boolean probe(Site site) {
        for (int attempt = 0; attempt < PROBES_MAX; attempt++) {
            int[] rows = random.ints(5, 0, Program.ROWS).toArray();
            Program program = Program.writing(++tags, rows);
            int before = counts.getOrDefault("committed", 0);
            site.sessions.begin(program, whole(program, Placement.EITHER), false);
            untilQuiet("though only replica " + site.node + " has a client");
            if (counts.getOrDefault("committed", 0) > before) {
                return true;
            }
        }
        return false;
    }

    // ------------------------------------------------------------------------------------------ scheduler

    /** Does one thing that can be done, or lets time pass until a timer runs out. */
    private void act() {
        nowNanos += random.nextInt(faults ? 2000 : 200);
        for (int attempt = 0; attempt < 200; attempt++) {
            Site site = sites.get(site());
            Action action = action();
            if (site.up ? act(site, action) : action == Action.CRASH && restart(site)) {
                return;
            }
        }
        sites.stream().flatMap(site -> site.timers.values().stream()).min(Long::compare)
                .ifPresent(next -> nowNanos = Math.max(nowNanos, next));
        for (Site site : sites) {
            if (!site.up && restart(site)) {
                return;
            }
            for (Action action : Action.ALL) {
                if (action.ordinal() < Action.FAULTS_FROM && site.up && act(site, action)) {
                    return;
                }
            }
        }
    }

    private int site() {
        return pick(speeds);
    }

    private Action action() {
        return Action.ALL[pick(weights)];
    }

    private int pick(int[] chances) {
        int sum = 0;
        for (int chance : chances) {
            sum += chance;
        }
        int dice = random.nextInt(sum);
        int chosen = 0;
        while (dice >= chances[chosen]) {
            dice -= chances[chosen++];
        }
        return chosen;
    }

    private <T> @Nullable T any(List<T> from) {
        return from.isEmpty() ? null : from.get(random.nextInt(from.size()));
    }

    /** Whether the site could do that, and has. */
    private boolean act(Site site, Action action) {
        if (action.ordinal() >= Action.FAULTS_FROM && (!faults || budgets[action.ordinal()] == 0)) {
            return false;
        }
        trace(site.node, action.ordinal());
        boolean done = possible(site, action);
        if (done) {
            budgets[action.ordinal()]--;
        }
        return done;
    }

    private boolean possible(Site site, Action action) {
        return switch (action) {
            case BEGIN -> begin(site);
            case STEP -> {
                Sessions.Local local = any(site.sessions.running());
                if (local != null) {
                    site.sessions.step(local);
                }
                yield local != null;
            }
            case SEQUENCE -> sequence(site);
            case DELIVER -> {
                boolean there = site.delivered < order.size();
                if (there) {
                    site.deliver();
                }
                yield there;
            }
            case VISIBLE -> {
                boolean there = site.sessions.head() != null;
                site.becomeVisible(1 + random.nextInt(faults ? 3 : 30));
                yield there;
            }
            case APPLY -> {
                Sessions.Slot slot = any(site.sessions.appliable());
                if (slot != null) {
                    site.sessions.apply(slot);
                }
                yield slot != null;
            }
            case PREPARE -> {
                Sessions.Prepared preparation = any(site.sessions.preparing());
                if (preparation != null) {
                    site.sessions.step(preparation);
                }
                yield preparation != null;
            }
            case EVENT -> {
                Runnable event = site.events.poll();
                if (event != null) {
                    event.run();
                }
                yield event != null;
            }
            case RECEIVE -> {
                boolean there = !site.inbox.isEmpty();
                if (there) {
                    Site.Letter letter = site.inbox.remove(random.nextInt(site.inbox.size()));
                    site.tell(() -> site.protocol.received(letter.sender(),
                            protocol.messages().decode(ByteBuffer.wrap(letter.payload()))));
                }
                yield there;
            }
            case GUESS -> site.tellGuess();
            case VIEW -> {
                Set<Integer> view = site.views.poll();
                if (view != null) {
                    site.tell(() -> site.protocol.view(view));
                }
                yield view != null;
            }
            case TIMER -> timer(site);
            case SAVE -> {
                site.save();
                yield true;
            }
            case ROLLBACK -> {
                Sessions.Local local = any(site.sessions.running());
                if (local != null) {
                    site.sessions.fail(local, random.nextBoolean() ? "user" : "disconnect");
                }
                yield local != null;
            }
            case LOSE -> {
                Sessions.Local local = any(site.locals.values().stream()
                        .filter(open -> !open.rolledBack && (open.phase == Sessions.Phase.ASKED
                                || open.phase == Sessions.Phase.CERTIFIED))
                        .toList());
                if (local != null) {
                    count("lost");
                    site.sessions.lose(local);
                }
                yield local != null;
            }
            case CONTROL -> {
                order.add(new Entry(site.node, null, site.incarnation, false));
                yield true;
            }
            case CRASH -> {
                site.crash();
                tellViews();
                yield true;
            }
            case SUSPECT -> suspect(site);
        };
    }

    private boolean begin(Site site) {
        if (toBegin == 0 || !site.ready || site.locals.size() >= clientsMax) {
            return false;
        }
        toBegin--;
        Program program = Program.random(random, ++tags, random.nextInt(6) == 0);
        boolean writes = program.steps().stream().anyMatch(Program.Step::writes);
        TransactionRequest request = switch (pick(kinds)) {
            case 0 -> TransactionRequest.Interactive.UNDECLARED;
            case 1 -> new TransactionRequest.Interactive(program.classes());
            case 2 -> whole(program, Placement.ONE);
            case 3 -> whole(program, Placement.EITHER);
            default -> whole(program, Placement.ALL);
        };
        site.sessions.begin(program, request, writes && random.nextBoolean());
        return true;
    }

    private static TransactionRequest.Whole whole(Program program, Placement placement) {
        return new TransactionRequest.Whole(program.statement(), program.classes(), program.exclusiveKeys(), placement);
    }

    /** The next message of a site, or of a replica's former life, gets its position. */
    private boolean sequence(Site site) {
        boolean ghost = !ghosts.isEmpty() && random.nextInt(4) == 0;
        Entry entry = ghost ? ghosts.poll() : site.outbox.poll();
        if (entry != null) {
            order.add(entry);
        }
        return entry != null;
    }

    /** Replicas may hear of a message before it is ordered. */
    void guess(Entry entry) {
        if (!tentative) {
            return;
        }
        for (Site site : sites) {
            if (site.up && random.nextInt(3) > 0) {
                site.guesses.add(entry);
            }
        }
    }

    private boolean timer(Site site) {
        for (Map.Entry<Long, Long> timer : new TreeMap<>(site.timers).entrySet()) {
            if (timer.getValue() <= nowNanos) {
                site.timers.remove(timer.getKey());
                site.tell(() -> site.protocol.timer(timer.getKey()));
                return true;
            }
        }
        return false;
    }

    private boolean restart(Site site) {
        site.restart();
        tellViews();
        return true;
    }

    private void tellViews() {
        TreeSet<Integer> alive = new TreeSet<>();
        sites.stream().filter(site -> site.up).forEach(site -> alive.add(site.node));
        for (Site site : sites) {
            if (site.up && (random.nextInt(5) > 0 || !faults)) {
                site.views.add(alive);
            }
        }
    }

    /** A site believes for a while that another is gone. */
    private boolean suspect(Site site) {
        int other = random.nextInt(sites.size());
        if (other == site.node) {
            return false;
        }
        TreeSet<Integer> less = new TreeSet<>(all);
        less.remove(other);
        count("suspicion");
        site.views.add(less);
        if (random.nextBoolean()) {
            site.views.add(new TreeSet<>(all));
        }
        return true;
    }
}
