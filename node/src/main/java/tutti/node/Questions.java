package tutti.node;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;

/**
 * What clients ask a node about the cluster: what became of a transaction, and when this node has caught up with a
 * position, or with all that is known anywhere. All on the node's event loop.
 *
 * <p>
 * <b>What became of a transaction</b> is answered from {@link Outcomes}, if they tell. If not, the question is put into
 * the order. The transaction's node, if it lives, answers there when the transaction has ended: one that has not asked to
 * commit is rolled back first, and one that has not begun can no longer begin. If the node is not in sight of a majority, its
 * life is fenced. Whichever comes first in the order decides, for everybody alike, and no answer can be
 * overtaken by a commit: what the node had sent was ordered before its answer, or is skipped behind the fence.
 *
 * <p>
 * <b>That it has committed</b> is known as soon as that is delivered here, but where updates have seen all that anybody was told
 * of before they began, the node at which they begin must show it first ({@link Node#tellsFirst}): its word is waited for, too,
 * unless that life of it is over, in which it could begin another, or no more updates begin there. Who asks is told when all that was
 * delivered by then is visible here, and what was left out has not committed ({@link Settlement}).
 *
 * <p>
 * <b>Who only listens</b> ({@link Settlement#listens}) does not know what was delivered, and answers nothing in this life.
 */
final class Questions {
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    /** What of the node is needed here. */
    interface Node {
        long visible();

        long deliveredPosition();

        /**
         * Whether a majority, of which this node is one, cannot see a node. One that sees no majority may be cut off itself, and
         * what it has ordered comes when the others are well.
         */
        boolean isGone(int node);

        void send(Control control);

        void schedule(long delayNanos, Runnable task);

        /** Somebody waits for this position. */
        void hurry(long position);

        /** Whether what is delivered is not known here any more. */
        boolean listens();

        /** Whether nobody may be told that a transaction of a node has committed before that node shows it. */
        boolean tellsFirst(int node);
    }

    private record Waiter(long position, Completion<Long> done) {}

    private static final class Question {
        private final TransactionId about;
        private final Completion<TransactionOutcome> done;
        private boolean fenced;
        /** It has been ordered: by a majority that there is now. */
        private boolean ordered;
        /** Its node has said, in the order, that it has ended; then that node shows it, too, if it has committed. */
        private boolean ended;

        Question(TransactionId about, Completion<TransactionOutcome> done) {
            this.about = about;
            this.done = done;
        }
    }

    private final Node node;
    private final Outcomes outcomes;
    private final List<Question> open = new ArrayList<>();
    private final PriorityQueue<Waiter> waiters = new PriorityQueue<>(Comparator.comparingLong(Waiter::position));
    private final Map<Long, Completion<Long>> marks = new HashMap<>();
    private long lastMark;

    /** @param lastMark no mark of this node that was ordered before has this number or a higher one */
    Questions(Node node, Outcomes outcomes, long lastMark) {
        this.node = node;
        this.outcomes = outcomes;
        this.lastMark = lastMark;
    }

    void ask(TransactionId about, Completion<TransactionOutcome> done) {
        Question question = new Question(about, done);
        if (isDecided(question)) {
            answer(question);
            return;
        }
        open.add(question);
        if (outcomes.of(about) != Outcomes.Answer.EXECUTING || node.tellsFirst(about.node())) {
            node.send(new Control.Question(about));
        }
        node.schedule(PATIENCE_NANOS, () -> {
            if (open.remove(question)) {
                done.succeeded(TransactionOutcome.IN_PROGRESS);
            }
        });
    }

    private Outcomes.Answer known(Question question) {
        return question.ended ? outcomes.ofEnded(question.about) : outcomes.of(question.about);
    }

    private boolean isDecided(Question question) {
        return !node.listens() && switch (known(question)) {
            case OPEN, EXECUTING -> false;
            case UNHEARD -> question.ended;
            case COMMITTED -> question.ended || outcomes.isOver(question.about)
                    || !node.tellsFirst(question.about.node());
            case ABORTED, UNKNOWN -> true;
        };
    }

    /**
     * Not before the question has been ordered: a node that was cut off hears what was sent to it meanwhile, and for a moment may
     * see a majority that is long over, of which nodes that are well were no part.
     */
    private void fenceIfGone(Question question) {
        if (question.ordered && !question.fenced && outcomes.of(question.about) == Outcomes.Answer.OPEN
                && node.isGone(question.about.node())) {
            question.fenced = true;
            node.send(new Control.Fence(question.about.node(), question.about.incarnation()));
        }
    }

    private void answer(Question question) {
        if (known(question) != Outcomes.Answer.COMMITTED) {
            tell(question);
            return;
        }
        await(node.deliveredPosition(), new Completion<>() {
            @Override
            public void succeeded(Long visible) {
                tell(question);
            }

            @Override
            public void failed(EngineFailure failure) {
                // The engine may stand before something that is left out in the end.
                question.done.succeeded(TransactionOutcome.IN_PROGRESS);
            }
        });
    }

    private void tell(Question question) {
        question.done.succeeded(switch (known(question)) {
            case COMMITTED -> TransactionOutcome.COMMITTED;
            case ABORTED -> TransactionOutcome.ABORTED;
            default -> TransactionOutcome.UNKNOWN;
        });
    }

    /** Messages were delivered, a request was executed, or the members have changed. */
    void reconsider() {
        if (open.isEmpty()) {
            return;
        }
        List<Question> decided = open.stream().filter(this::isDecided).toList();
        open.removeAll(decided);
        open.forEach(this::fenceIfGone);
        decided.forEach(this::answer);
    }

    /**
     * A question of this node was delivered. Its client had the name from a node that had been delivered its own first
     * message; so did this one, by now, if there is such a transaction.
     */
    void delivered(TransactionId about) {
        open.stream().filter(question -> question.about.equals(about)).forEach(question -> {
            question.ordered = true;
            fenceIfGone(question);
        });
        if (outcomes.of(about) == Outcomes.Answer.UNHEARD) {
            ended(about);
        }
    }

    /** The node of a transaction has said that it has ended. */
    void ended(TransactionId transaction) {
        for (Question question : open) {
            question.ended |= question.about.equals(transaction);
        }
        reconsider();
    }

    /** Told the visible position once it is this one or higher; fails if that takes too long. */
    void await(long position, Completion<Long> done) {
        if (node.visible() >= position) {
            done.succeeded(node.visible());
            return;
        }
        Waiter waiter = new Waiter(position, done);
        waiters.add(waiter);
        node.hurry(position);
        node.schedule(PATIENCE_NANOS, () -> {
            if (waiters.remove(waiter)) {
                done.failed(new EngineFailure("57P03", "the node has not caught up with position " + position
                        + " in time: it shows position " + node.visible() + "; try again, or another node", true));
            }
        });
    }

    /** Told the visible position once everything is visible that was ordered, anywhere, before this call. */
    void awaitAll(Completion<Long> done) {
        long mark = ++lastMark;
        marks.put(mark, done);
        node.send(new Control.Mark(mark));
        node.schedule(PATIENCE_NANOS, () -> {
            if (marks.remove(mark, done)) {
                done.failed(new EngineFailure("57P03", "the order has not answered in time; try again, or another node",
                        true));
            }
        });
    }

    /** A mark of this node was delivered. */
    void marked(long mark, long position) {
        Completion<Long> done = marks.remove(mark);
        if (done != null) {
            await(position, done);
        }
    }

    /** The visible position has moved. */
    void visible(long position) {
        for (Waiter next = waiters.peek(); next != null && next.position() <= position; next = waiters.peek()) {
            waiters.remove();
            next.done().succeeded(position);
        }
    }
}
