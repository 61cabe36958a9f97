package tutti.sim.world;

import java.util.ArrayList;
import java.util.List;
import tutti.core.txn.RowLock;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.database.Catalog;
import tutti.sim.world.database.Program;
import tutti.sim.world.database.Program.Action;
import tutti.sim.world.database.Program.Step;
import tutti.workload.listappend.ListAppendInputs;
import tutti.workload.listappend.ListAppendOptions;
import tutti.workload.listappend.ListAppendStep;

/** What clients do: the transactions of the list-append workload, some with statements on registers and links in between. */
final class Programs {
    private static final int REGISTER_STEPS_MAX = 3;
    private static final int APPENDS_PER_KEY = 32;
    private static final int OPERATIONS_MAX = 4;
    private static final int APPEND_PERCENT = 60;
    private static final double REGISTERS_ONLY = 0.15;
    private static final double LINKS = 0.15;
    private static final double LOCKS = 0.4;
    private static final int LOCKS_MAX = 2;
    private static final int LOCKED_REGISTERS = 4;

    private static final List<RowLock> ROWS = List.of(RowLock.UPDATE, RowLock.NO_KEY_UPDATE, RowLock.SHARE,
            RowLock.SHARE, RowLock.KEY_SHARE);
    private static final List<RowLock> ADVISORY = List.of(RowLock.UPDATE, RowLock.SHARE);

    private final RandomStream random;
    private final ListAppendInputs lists;
    private final double readOnly;
    private final double withRegisters;
    /** Of its own, so that the rest is as it is without locks. */
    private final RandomStream locks;
    private final boolean locking;
    private long tag;

    /** @param locking whether some lock what they do not change, and their node hears of it */
    Programs(RandomStream random, boolean locking) {
        this.random = random;
        int keys = (int) random.between(4, 16);
        readOnly = 0.05 + 0.3 * random.nextDouble();
        withRegisters = 0.6 * random.nextDouble();
        lists = new ListAppendInputs(new ListAppendOptions(keys, APPENDS_PER_KEY, 1, OPERATIONS_MAX, APPEND_PERCENT,
                Catalog.LIST_TABLES), random.nextLong());
        locks = random.fork("locks");
        this.locking = locking;
    }

    Program next() {
        boolean reads = random.chance(readOnly);
        List<Step> steps = new ArrayList<>();
        boolean registers = random.chance(withRegisters);
        if (!registers || !random.chance(REGISTERS_ONLY)) {
            for (ListAppendStep step : lists.next(reads)) {
                steps.add(switch (step) {
                    case ListAppendStep.Append append -> new Step(Action.APPEND, append.key(), append.value());
                    case ListAppendStep.Read read -> new Step(Action.READ, read.key());
                });
            }
        }
        if (registers) {
            for (int left = 1 + random.nextInt(REGISTER_STEPS_MAX); left > 0; left--) {
                steps.add(random.nextInt(steps.size() + 1), register(reads));
            }
        }
        if (locking && !reads && locks.chance(LOCKS)) {
            for (int left = 1 + locks.nextInt(LOCKS_MAX); left > 0; left--) {
                steps.add(locks.nextInt(steps.size() + 1), lock());
            }
        }
        return new Program(++tag, steps);
    }

    private Step lock() {
        if (locks.nextInt(3) == 0) {
            return Step.locking(Action.ADVISE, Catalog.advisory(locks.nextInt(Catalog.ADVISORY_LOCKS)),
                    locks.pick(ADVISORY));
        }
        return Step.locking(Action.LOCK, Catalog.register(locks.nextInt(LOCKED_REGISTERS)), locks.pick(ROWS));
    }

    private Step register(boolean reads) {
        long row = Catalog.register(random.nextInt(Catalog.REGISTERS));
        if (!reads && random.chance(LINKS)) {
            return link();
        }
        int dice = random.nextInt(20);
        if (dice < 4 || (reads && dice < 14)) {
            return new Step(Action.READ, row);
        }
        if (dice < 7 || reads) {
            return new Step(Action.SCAN, 0);
        }
        if (dice < 9) {
            return new Step(Action.LOCK, row);
        }
        return new Step(dice < 17 ? Action.SET : Action.DELETE, row);
    }

    private Step link() {
        long row = Catalog.link(random.nextInt(Catalog.LINKS));
        return random.nextInt(3) == 0
                ? new Step(Action.DELETE, row)
                : new Step(Action.LINK, row, random.nextInt(Catalog.REGISTERS));
    }

    /** Appends to a list that nobody else uses. */
    Program probe(long list, int value) {
        return new Program(++tag, List.of(new Step(Action.APPEND, list, value)));
    }

    /** Lists 0 to this one, exclusive, have been used. */
    long lists() {
        return lists.keysUsed();
    }
}
