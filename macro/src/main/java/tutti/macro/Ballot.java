package tutti.macro;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.Operation;

/**
 * A call whose answer is what a majority of the replicas answers. The voters are the replicas that were active when the
 * call was given its place; a voter that is removed withdraws, and the majority is still one of all voters, so that no
 * two ballots on one call can end differently.
 */
final class Ballot extends SequencedCall {
    private record Vote(Replica replica, @Nullable Object value, @Nullable Throwable thrown) {}

    private final Voting voting;
    private final List<Replica> open = new ArrayList<>();
    private final List<Vote> votes = new ArrayList<>();
    private int voters;
    private @Nullable Vote decision;

    Ballot(Operation operation, @Nullable Object[] arguments, @Nullable CompletableFuture<@Nullable Object> future,
            Voting voting) {
        super(operation, arguments, future);
        this.voting = voting;
    }

    @Override
    synchronized void sequenced(Replica[] members) {
        for (Replica member : members) {
            if (member.active()) {
                open.add(member);
            }
        }
        voters = open.size();
    }

    @Override
    synchronized void answered(Replica replica, @Nullable Object value, @Nullable Throwable thrown,
            Consumer<ReplicaFault> faults) {
        if (!open.remove(replica)) {
            return;
        }
        Vote vote = new Vote(replica, value, thrown);
        if (decision != null) {
            reportUnlessAgreed(vote, decision, faults);
            return;
        }
        votes.add(vote);
        if (votes.stream().filter(other -> agree(vote, other)).count() > voters / 2) {
            decision = vote;
            give(value, thrown);
            votes.forEach(other -> reportUnlessAgreed(other, vote, faults));
            votes.clear();
        } else {
            giveUpIfOver();
        }
    }

    @Override
    synchronized void withdrawn(Replica replica, Consumer<ReplicaFault> faults) {
        if (open.remove(replica) && decision == null) {
            giveUpIfOver();
        }
    }

    private void giveUpIfOver() {
        if (open.isEmpty()) {
            give(null, new NoMajorityException("of " + voters + " replicas no majority gave the same answer to "
                    + operation + ": " + votes.stream().map(v -> v.replica.name() + " " + describe(v.value, v.thrown))
                            .collect(Collectors.joining(", "))));
        }
    }

    /** The voters that have not answered although there is a majority. */
    synchronized List<Replica> late() {
        return decision == null ? List.of() : List.copyOf(open);
    }

    private boolean agree(Vote one, Vote other) {
        if (one.thrown != null || other.thrown != null) {
            return one.thrown != null && other.thrown != null && one.thrown.getClass() == other.thrown.getClass();
        }
        try {
            return voting.same().test(one.value, other.value) || operation.alike(one.value, other.value);
        } catch (RuntimeException | Error _) {
            // A comparison that cannot deal with the values has not found that they agree.
            return false;
        }
    }

    private void reportUnlessAgreed(Vote vote, Vote right, Consumer<ReplicaFault> faults) {
        if (!agree(vote, right)) {
            faults.accept(new ReplicaFault(vote.replica.name(),
                    vote.thrown == null && right.thrown == null
                            ? ReplicaFault.Kind.WRONG_VALUE
                            : ReplicaFault.Kind.WRONG_EXCEPTION,
                    operation.toString(), position,
                    describe(vote.value, vote.thrown) + ", the majority " + describe(right.value, right.thrown),
                    false));
        }
    }
}
