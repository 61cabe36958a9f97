package tutti.model;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Execution;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.Stage;
import tutti.core.protocol.Trait;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;

/**
 * The transactions of one site's clients: runs them on the modelled database, tells the protocol, and does what it asks. The
 * rules are those of {@code tutti.node.ClientTransactions}; a transaction here takes its locks, uses a
 * processor, and has executed, at once or statement by statement.
 */
final class ModelTransactions {
    private static final String VICTIM = "victim";
    private static final String CRASH = "crash";
    private static final String FIRST_UPDATER = "first-updater";
    private static final String USER = "user";

    private static final Label WAIT = Label.of("client", "waits for the network");

    private final ModelReplica replica;
    private final Site site;
    private final Map<TransactionId, ModelTransaction> open = new LinkedHashMap<>();
    /** Those of them that run, or have run and may commit, in the order in which they were started. */
    private final LinkedHashMap<TransactionId, ModelTransaction> started = new LinkedHashMap<>();
    /** What was visible when those were started that are rolled back, of which the protocol is still to be told. */
    private final ArrayDeque<Long> toBeTold = new ArrayDeque<>();
    private final ModelPreparations preparations;
    private final ModelUndertakings undertakings;
    /** What is to be decided together with the next. */
    private final List<Work> included = new ArrayList<>();
    private final LockWaits waits;
    /** What transactions take that execute statement by statement. */
    private final RandomStream chance;
    private long serial = 1L << Integer.SIZE;

    ModelTransactions(ModelReplica replica, Site site, ModelUndertakings undertakings) {
        this.replica = replica;
        this.undertakings = undertakings;
        this.site = site;
        this.preparations = new ModelPreparations(replica, site, ModelTransactions::known);
        this.waits = new LockWaits(site, ModelTransactions::known);
        this.chance = site.world().kernel().random("statements " + site.node());
    }

    /** As a protocol knows it: it does not know of those that execute at once and have not executed. */
    private static @Nullable TransactionId known(LockHolder holder) {
        return holder instanceof ModelTransaction local && local.told ? local.id : null;
    }

    Engines.Engine primary() {
        return site.engines().primary();
    }

    /** Makes the changes of a transaction of another site and keeps them. */
    void prepare(TransactionId id) {
        preparations.prepare(id);
    }

    /**
     * No transaction that may commit, as far as the protocol has been told, has begun below it, nor one told of from now on: what
     * was visible when the first of those that run was started. It may have taken its snapshot later, while it waited for
     * locks; that is not looked for. One that has been rolled back counts until the protocol hears of that, and so of its execution.
     */
    long horizon() {
        long running = started.isEmpty() ? replica.visible() : started.firstEntry().getValue().startedAt;
        return toBeTold.stream().reduce(running, Math::min);
    }

    private ModelTransaction known(TransactionId id) {
        ModelTransaction local = open.get(id);
        if (local == null) {
            throw new IllegalStateException(id + " is not open at its site");
        }
        return local;
    }

    private void enter(ModelTransaction local, Stage next) {
        long now = site.world().kernel().now();
        site.world().recorder().moved(site.node(), local.work, local.stage, next, local.stageSince, now);
        local.stage = next;
        local.stageSince = now;
    }

    // ------------------------------------------------------------------------------------------ clients

    void begin(Work work, long travelNanos, ClientModel client) {
        work.id = new TransactionId(site.node(), ++serial);
        site.world().begin(work);
        ModelTransaction local = new ModelTransaction(this, work, client, site.world().kernel().now() - travelNanos);
        site.world().recorder().came(site.node(), Stage.ORDERING);
        if (work.kind.readOnly()) {
            read(local);
            return;
        }
        open.put(work.id, local);
        if (replica.claims().has(Trait.EXECUTES_AT_ONCE) && !work.active) {
            start(local);
        } else if (work.isForOwner()) {
            // Its client computes where it is, and no client waits or is waited for while the owner executes.
            site.engines().outside(site.world().scaled((double) work.clientNanos), () -> submit(local));
        } else {
            submit(local);
        }
    }

    /**
     * What changes nothing is no matter of the protocol. Under strict two-phase locking it locks what it reads; it loses its
     * locks to what has its place in the order, as any transaction does that has none. Where there are secondaries it runs at one of those.
     */
    private void read(ModelTransaction local) {
        site.world().workload().resolve(local.work);
        local.shared = local.work.shared;
        local.active = true;
        site.engines().read(engine -> {
            local.engine = engine;
            reading(local);
        });
    }

    private void reading(ModelTransaction local) {
        if (!local.work.statements.isEmpty()) {
            approach(local);
            return;
        }
        if (local.shared.length == 0) {
            acquired(local);
            return;
        }
        enter(local, Stage.LOCKING);
        if (site.locks().acquire(local)) {
            acquired(local);
        }
    }

    private void submit(ModelTransaction local) {
        if (!local.told) {
            local.told = true;
            replica.tell(ModelReplica.Charge.EVENT, 0,
                    () -> replica.protocol().submitted(local.id, local.work.request));
        }
    }

    private void start(ModelTransaction local) {
        site.world().workload().resolve(local.work);
        local.exclusive = local.work.exclusive;
        local.shared = local.work.shared;
        local.runs++;
        local.epoch++;
        local.begun = replica.visible();
        local.startedAt = local.begun;
        local.active = true;
        local.decided = false;
        started.putLast(local.id, local);
        local.reached = LockHolder.AT_ONCE;
        if (!local.work.statements.isEmpty() && !local.pushesAside()) {
            approach(local);
            return;
        }
        enter(local, Stage.LOCKING);
        if (site.locks().acquire(local)) {
            acquired(local);
        } else {
            watch(local);
        }
    }

    /** Has the protocol told for whom it waits, if it wants to hear that. */
    private void watch(ModelTransaction local) {
        if (replica.claims().has(Trait.HEARS_OF_WAITS)) {
            int run = local.runs;
            waits.watch(local,
                    () -> local.active && local.stage == Stage.LOCKING && local.runs == run && !replica.isOver(),
                    holders -> tell(local, () -> replica.protocol().blocked(local.id, holders)));
        }
    }

    // ------------------------------------------------------------------------------------------ statement by statement

    /**
     * It computes up to where it takes its snapshot and asks for its first row: first its client, then its database. Each
     * waits for a processor by itself, for each has to be woken by the other. What a client takes of which that is not known is
     * divided equally among its calls and what comes before them.
     */
    private void approach(ModelTransaction local) {
        Calibration.Losing losing = site.world().calibration().losing();
        local.statement = 0;
        double client = local.work.clientNanos;
        local.approachNanos = Math.min(sample(losing.approach(), local),
                site.world().calibration().rows().executing(local.work));
        double known = sample(losing.approachClient(), local);
        local.approachClientNanos = known > 0 ? Math.min(known, client) : client / (local.work.calls() + 1);
        enter(local, Stage.EXECUTING);
        outside(local, local.approachClientNanos, () -> compute(local, local.approachNanos, () -> {
            site.locks().begin(local);
            local.begun = replica.visible();
            lock(local);
        }));
    }

    private double sample(Map<RequestKind, Distribution> of, ModelTransaction local) {
        return of.getOrDefault(local.work.kind, Distribution.ZERO).sample(chance);
    }

    /** Has it compute in its database, if it has to, and go on if it still runs then. */
    private void compute(ModelTransaction local, double nanos, Runnable then) {
        compute(local, nanos, local.engine::execute, then);
    }

    /** Has its client compute. */
    private void outside(ModelTransaction local, double nanos, Runnable then) {
        compute(local, nanos, site.engines()::outside, then);
    }

    private void compute(ModelTransaction local, double nanos, BiFunction<Long, Runnable, Engines.Job> where,
            Runnable then) {
        if (nanos < 1) {
            then.run();
            return;
        }
        int run = local.runs;
        local.job = where.apply(site.world().scaled(nanos), () -> {
            local.job = null;
            if (local.active && local.runs == run) {
                then.run();
            }
        });
    }

    /** It asks for the rows of its statement that it has not got, and computes when it has them. */
    private void lock(ModelTransaction local) {
        Work.Statement statement = local.work.statements.get(local.statement);
        while (local.reached < statement.rowsEnd()) {
            switch (site.locks().acquireNext(local)) {
                case LOCKED -> {
                    // The next one.
                }
                case WAITS -> {
                    enter(local, Stage.LOCKING);
                    watch(local);
                    return;
                }
                case CHANGED -> {
                    site.locks().release(local, false);
                    overtaken(local);
                    return;
                }
            }
        }
        double all = site.world().calibration().rows().executing(local.work);
        compute(local, (all - local.approachNanos) * statement.share(), () -> {
            local.statement++;
            if (statement.endsCall()) {
                answered(local);
            } else {
                next(local);
            }
        });
    }

    /** Its client takes an answer, and goes on. */
    private void answered(ModelTransaction local) {
        int run = local.runs;
        waiting(local.work.waitingNanos / local.work.calls(), () -> {
            if (local.active && local.runs == run) {
                outside(local, (local.work.clientNanos - local.approachClientNanos) / local.work.calls(),
                        () -> next(local));
            }
        });
    }

    private void next(ModelTransaction local) {
        if (local.statement < local.work.statements.size()) {
            lock(local);
        } else {
            executed(local);
        }
    }

    /** What it takes to have lost a row and to roll back, before anybody hears of it. */
    private void lost(ModelTransaction local, Runnable then) {
        Calibration.Losing losing = site.world().calibration().losing();
        long waiting = (long) sample(losing.failingWaiting(), local);
        int epoch = local.epoch;
        long server = site.world().scaled(sample(losing.failing(), local));
        long client = site.world().scaled(sample(losing.failingClient(), local));
        local.job = local.engine.execute(server, () -> local.job = site.engines().outside(client, () -> {
            local.job = null;
            waiting(waiting, () -> {
                if (local.epoch == epoch) {
                    then.run();
                }
            });
        }));
    }

    // ------------------------------------------------------------------------------------------ at once

    /** It has all its locks. Who could not be overtaken while it waited takes its snapshot now. */
    void acquired(ModelTransaction local) {
        if (local.isStepwise()) {
            enter(local, Stage.EXECUTING);
            lock(local);
            return;
        }
        if (local.pushesAside() || local.shared.length > 0) {
            local.begun = replica.visible();
        }
        enter(local, Stage.EXECUTING);
        int run = local.runs;
        local.job = local.engine.execute(computing(local.work), () -> {
            local.job = null;
            waiting(local.work.waitingNanos, () -> {
                if (local.active && local.runs == run) {
                    executed(local);
                }
            });
        });
    }

    /** Its own processor time and its client's, who take turns: never more than one of them computes. So a client is inside its database all the time. */
    private long computing(Work work) {
        return site.world().scaled(site.world().calibration().rows().executing(work) + work.clientNanos);
    }

    /** The time in which neither computes passes, with locks held. */
    private void waiting(long nanos, Runnable then) {
        if (nanos == 0) {
            then.run();
        } else {
            site.world().kernel().schedule(nanos, WAIT, then);
        }
    }

    private void executed(ModelTransaction local) {
        if (replica.isOver()) {
            return;
        }
        if (local.work.kind.readOnly()) {
            local.active = false;
            site.engines().readFrom(local.engine);
            site.locks().release(local, false);
            end(local, "");
            return;
        }
        if (local.work.givenUp) {
            givenUp(local);
            return;
        }
        submit(local);
        enter(local, Stage.EXECUTED);
        Execution execution = new Execution(local.begun, replica.visible(), local.work.writes, local.work.reads);
        tell(local, () -> replica.protocol().executed(local.id, execution));
    }

    /** Its user rolls it back. A protocol that knows of it hears that it changes nothing. */
    private void givenUp(ModelTransaction local) {
        rolledBack(local);
        if (local.told) {
            Execution nothing = new Execution(local.begun, replica.visible(), WriteSet.EMPTY, ReadSet.EMPTY);
            tell(local, () -> replica.protocol().executed(local.id, nothing));
        } else {
            end(local, USER);
        }
    }

    /** Has the protocol told of a transaction, unless by then it has run again, was rolled back or answered. */
    private void tell(ModelTransaction local, Runnable event) {
        int epoch = local.epoch;
        replica.tell(ModelReplica.Charge.EVENT, 0, () -> {
            if (local.epoch == epoch) {
                event.run();
            }
        });
    }

    // ------------------------------------------------------------------------------------------ who loses

    void pushedAside(ModelTransaction local) {
        local.active = false;
        rolledBack(local);
        long position = replica.delivered();
        if (local.told) {
            tell(local, () -> replica.protocol().victim(local.id, position));
        } else {
            end(local, VICTIM);
        }
    }

    void overtaken(ModelTransaction local) {
        local.active = false;
        boolean stepwise = local.isStepwise();
        rolledBack(local);
        if (stepwise) {
            lost(local, () -> tellOvertaken(local));
        } else {
            tellOvertaken(local);
        }
    }

    private void tellOvertaken(ModelTransaction local) {
        if (local.told) {
            tell(local, () -> replica.protocol().failed(local.id, new AbortReason.Failed(FIRST_UPDATER)));
        } else {
            end(local, FIRST_UPDATER);
        }
    }

    private void rolledBack(ModelTransaction local) {
        if (started.remove(local.id) != null && local.told) {
            toBeTold.add(local.startedAt);
            // Whoever calls this tells the protocol at once, that is, right behind this.
            replica.tell(ModelReplica.Charge.FREE, 0, toBeTold::remove);
        }
        if (local.active) {
            local.active = false;
            site.locks().release(local, false);
        }
        if (local.job != null) {
            site.engines().cancel(local.job);
            local.job = null;
        }
        if (local.stage == Stage.LOCKING || local.stage == Stage.EXECUTING) {
            enter(local, Stage.EXECUTED);
        }
    }

    /** The site has crashed. What becomes of those whose messages are on their way is for the others to decide. */
    void crash() {
        for (ModelTransaction local : List.copyOf(open.values())) {
            over(local, CRASH);
            local.client.answered(local.work, CRASH);
        }
    }

    private void over(ModelTransaction local, String cause) {
        open.remove(local.id);
        started.remove(local.id);
        local.epoch++;
        site.world().recorder().ended(site.node(), local.work, local.stage, cause, local.runs, local.since,
                local.stageSince);
    }

    private void end(ModelTransaction local, String cause) {
        over(local, cause);
        if (!cause.isEmpty() || local.work.kind.readOnly()) {
            site.world().forget(local.work);
        }
        local.client.answered(local.work, cause);
    }

    // ------------------------------------------------------------------------------------------ what protocols ask

    void run(TransactionId id, Priority priority) {
        ModelTransaction local = known(id);
        local.priority = priority;
        if (local.active && (local.stage == Stage.EXECUTING || local.stage == Stage.LOCKING)) {
            // It runs already. If it waits for who has no place in the order, it need not any more.
            if (local.stage == Stage.LOCKING && priority == Priority.ORDERED) {
                site.locks().release(local, false);
                start(local);
            }
            return;
        }
        if (local.active) {
            throw new IllegalStateException(id + " is to run though it has executed");
        }
        if (local.runs > 0 && local.work.request instanceof TransactionRequest.Interactive) {
            tell(local, () -> replica.protocol().failed(id, new AbortReason.Failed("cannot-repeat")));
            return;
        }
        start(local);
    }

    void abort(TransactionId id) {
        ModelTransaction local = open.get(id);
        if (local != null) {
            rolledBack(local);
            local.epoch++;
        } else {
            preparations.abort(id);
        }
    }

    void answer(TransactionId id, Outcome outcome) {
        undertakings.answered(id);
        ModelTransaction local = open.get(id);
        if (local == null && id.node() != site.node()) {
            return;
        }
        local = known(id);
        switch (outcome) {
            case Outcome.Committed(long position) -> {
                if (position > replica.visible()) {
                    throw new IllegalStateException(id + " is answered before it is visible");
                }
                end(local, local.work.givenUp ? USER : "");
            }
            case Outcome.Aborted(AbortReason reason) -> {
                if (local.active) {
                    throw new IllegalStateException(id + " is told " + outcome + " but is not rolled back");
                }
                end(local, local.work.givenUp ? USER : reason.label());
            }
        }
    }

    // ------------------------------------------------------------------------------------------ positions

    void decided(TransactionId id, long position, ModelPipeline pipeline, boolean commits) {
        List<Work> all = new ArrayList<>(List.of(site.world().work(id)));
        all.addAll(included);
        included.clear();
        Work work = Work.together(all);
        LockHolder run = commits ? undertakings.holder(id) : null;
        if (run != null || all.size() > 1) {
            for (Work each : all) {
                ModelTransaction asked = open.get(each.id);
                if (asked != null) {
                    enter(asked, Stage.DECIDED);
                }
            }
            pipeline.add(position, run == null ? ModelPipeline.Action.APPLY : ModelPipeline.Action.COMMIT, work, run);
            return;
        }
        ModelTransaction local = open.get(id);
        if (local == null) {
            LockHolder prepared = preparations.decided(id);
            pipeline.add(position, prepared == null ? ModelPipeline.Action.APPLY : ModelPipeline.Action.COMMIT, work,
                    prepared);
            return;
        }
        started.remove(id);
        enter(local, Stage.DECIDED);
        if (local.active) {
            if (!commits) {
                throw new IllegalStateException(id + " is applied while it holds its locks");
            }
            pipeline.add(position, ModelPipeline.Action.COMMIT, work, local);
        } else {
            pipeline.add(position, ModelPipeline.Action.APPLY, work, null);
        }
    }

    /** Another one is decided with the one that is decided next. */
    void includes(TransactionId id) {
        included.add(site.world().work(id));
    }

    void skip(long position, ModelPipeline pipeline) {
        included.clear(); // they have changed nothing
        pipeline.add(position, ModelPipeline.Action.SKIP, null, null);
    }

    void execute(TransactionId id, long position, ModelPipeline pipeline) {
        Work work = site.world().work(id);
        site.world().workload().resolve(work);
        ModelTransaction local = open.get(id);
        if (local != null) {
            enter(local, Stage.DECIDED);
        }
        pipeline.add(position, ModelPipeline.Action.EXECUTE, work, null);
    }

    /** A position became visible. */
    void visible(ModelPipeline.Slot slot) {
        if (slot.work != null) {
            slot.work.parts.forEach(this::visible);
        }
    }

    private void visible(Work work) {
        if (work.id.node() == site.node()) {
            site.world().workload().committed(work);
            ModelTransaction local = open.get(work.id);
            if (local != null) {
                local.active = false;
                enter(local, Stage.ENDING);
            }
        }
    }
}
