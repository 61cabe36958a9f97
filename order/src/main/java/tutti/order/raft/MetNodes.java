package tutti.order.raft;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.order.peer.Greeting;
import tutti.runtime.Directory;

/**
 * What this node knows of the others' directories, by which it turns away a directory that was lost or put back from an old
 * copy. In files {@code met-N} of its own directory; deleting one lets node N come with any directory. Of Raft's loop.
 *
 * <p>
 * <b>Lost directories.</b> A directory has a number that no other has, and the others note it when they meet it first. A member that
 * comes back without its vote and its log would break what a majority rests on: it could vote twice in a term, and for a leader
 * that lacks what it has helped to commit. It comes with a directory of another number.
 *
 * <p>
 * <b>Old copies</b> break the same, and have the right number. Three things never go back in a directory: the number of its lives,
 * the term in which it votes once, and the last entry that it holds of those that are committed. The others note what they hear of
 * each: the life durably, before they take any promise of it; the rest in memory at once, and in the file by and by. Whoever
 * greets with less, or with a life that another process had, comes with an old copy.
 *
 * <p>
 * <b>Why nobody is turned away wrongly.</b> A node writes its life and its term down before it tells them. It acknowledges an entry,
 * and tells how far its log is committed, when that is on its disk, and from the end of a log only what is not committed is
 * ever cut.
 *
 * <p>
 * Whoever holds what was ordered, and has an empty directory, does not ask anybody: those that had noted its number may have lost theirs.
 *
 * <p>
 * <b>A node that begins with a copy of another one's data</b> begins with what that one knows of all others, and of itself ({@link Notes}). It would take any
 * directory for the first otherwise: it and a member that has lost what it has acknowledged could be a majority without whoever else knows that.
 *
 * <p>
 * <b>What escapes.</b> A copy is not recognised if whoever has heard more is away, or has forgotten it in a crash of its own in
 * the few seconds before a note was in its file. A member that starts for the first time of all, when the others have served without it, has met nobody.
 */
final class MetNodes {
    /** How the names of its files begin. */
    static final String MET = "met-";
    private static final String REPLACED = "replaced-";
    /** What helps a node that has lost its directory. */
    static final String REMEDY = "give the node a copy of another node's data: `tutti node --copy-from any`, if it does not get one"
            + " by itself (docs/operations.md)";

    /** What is known of one node. */
    private static final class Known {
        private RaftFiles.Met met;
        private boolean saved = true;

        Known(RaftFiles.Met met) {
            this.met = met;
        }

        void heard(int term, boolean voted, long index) {
            boolean higher = term > met.term();
            boolean votes = higher ? voted : met.voted() || (voted && term == met.term());
            if (higher || votes != met.voted() || index > met.index()) {
                met = new RaftFiles.Met(met.directory(), met.life(), met.process(), Math.max(term, met.term()), votes,
                        Math.max(index, met.index()));
                saved = false;
            }
        }
    }

    /** What a node that begins with a copy knows of the others. */
    record Notes(Map<Integer, RaftFiles.Met> met, Map<Integer, RaftFiles.Replaced> replaced) {
        void write(Directory into) throws IOException {
            for (Map.Entry<Integer, RaftFiles.Met> each : met.entrySet()) {
                RaftFiles.write(into, MET + each.getKey(), each.getValue());
            }
            for (Map.Entry<Integer, RaftFiles.Replaced> each : replaced.entrySet()) {
                RaftFiles.write(into, REPLACED + each.getKey(), each.getValue());
            }
        }
    }

    /**
     * Notes of a node, in a directory that nobody uses, with which directory it is welcome: with that one alone, whatever it had before.
     *
     * @param position up to which messages that tell of its directories are of the history before
     */
    static void expect(Directory directory, int node, long itsDirectory, long position) throws IOException {
        begins(directory, node, position);
        met(directory, node, itsDirectory);
    }

    /** Notes in a directory that nobody uses which one another node has. */
    static void met(Directory directory, int node, long itsDirectory) throws IOException {
        RaftFiles.write(directory, MET + node, first(itsDirectory));
    }

    private static RaftFiles.Met first(long itsDirectory) {
        return new RaftFiles.Met(itsDirectory, 0, 0, 0, false, 0);
    }

    /** Notes in a directory that nobody uses that messages up to a position, which tell of a node's directories, are of the history before. */
    static void begins(Directory directory, int node, long position) throws IOException {
        RaftFiles.write(directory, REPLACED + node, new RaftFiles.Replaced(position));
    }

    /** Forgets, in a directory that nobody uses, whom a node has met. */
    static void forget(Directory directory) throws IOException {
        for (String name : files(directory, MET)) {
            directory.delete(name);
        }
        directory.sync();
    }

    private static List<String> files(Directory directory, String prefix) throws IOException {
        List<String> names = new ArrayList<>(directory.list());
        // Others are what a crash has left, or somebody's copies.
        names.removeIf(name -> !name.matches(prefix + "\\d{1,9}"));
        return names;
    }

    private final int self;
    private final Directory directory;
    private final NavigableMap<Integer, Known> nodes = new TreeMap<>();
    /** The last node of which something was noted in this turn. */
    private int savedLast = -1;
    /** With what nodes have come that have not promised anything since. */
    private final Map<Integer, Greeting.Hello> greeted = new HashMap<>();
    /** What others have acknowledged to this node as the leader of a term; the last of it need not be committed. */
    private final Map<Integer, Long> acknowledged = new HashMap<>();
    private int acknowledgedTerm;

    MetNodes(int self, Directory directory) {
        this.self = self;
        this.directory = directory;
    }

    private @Nullable Known known(int node) throws IOException {
        if (!directory.exists(MET + node)) {
            nodes.remove(node);
            return null;
        }
        Known known = nodes.get(node);
        if (known == null) {
            known = new Known(RaftFiles.read(directory, MET + node, RaftFiles.Met.class));
            nodes.put(node, known);
        }
        return known;
    }

    /**
     * What to tell a node that greets: that it is welcome, or why it is not.
     *
     * @param otherwise why it is not welcome whatever its directory is; empty if nothing else speaks against it
     * @param learner whether it is new, and comes with a copy of which all are told, if it does not come too early
     * @throws IOException if what is known of it cannot be read, or its directory, met first, cannot be noted
     */
    Greeting.Answer admit(Greeting.Hello hello, String otherwise, boolean learner) throws IOException {
        String outdated = outdated(hello);
        if (!outdated.isEmpty() || !otherwise.isEmpty()) {
            return new Greeting.Answer(outdated.isEmpty() ? otherwise : outdated, !outdated.isEmpty());
        }
        int node = hello.node();
        if (!knows(node, hello.standing().directory())) {
            return Greeting.Answer.lost("node " + node
                    + " comes with another directory than the one that it had,"
                    + " and without what it has promised the others: put its directory back. If it is lost, "
                    + REMEDY);
        }
        if (learner && known(node) == null) {
            return Greeting.Answer
                    .lost("node " + node + " is new, and has no copy yet of what the others hold: start it with"
                            + " `tutti node --copy-from any`, if it does not ask for one by itself");
        }
        greeted.put(node, hello);
        if (known(node) == null) {
            note(node, first(hello.standing().directory()));
        }
        return new Greeting.Answer("", false);
    }

    /** Why what a node comes with is an old copy of its directory; nothing if it is not, or if it is another directory. */
    String outdated(Greeting.Hello hello) throws IOException {
        Known known = known(hello.node());
        if (known == null || known.met.directory() != hello.standing().directory()) {
            return "";
        }
        String less = less(hello.standing(), hello.process(), known.met);
        return less.isEmpty()
                ? ""
                : "node " + hello.node() + " comes with less than it has promised: " + less
                        + ". Its order's directory was"
                        + " put back from an old copy, or its disk has lost what was safe. Put the newest one back, or "
                        + REMEDY;
    }

    /** Whether this node has met another one, or was told of its directory. */
    boolean hasMet(int node) throws IOException {
        return known(node) != null;
    }

    /** Whether another node has the directory that it had when this one met it first, or is met first. */
    boolean knows(int node, long itsDirectory) throws IOException {
        Known known = known(node);
        return known == null || known.met.directory() == itsDirectory;
    }

    private String less(Greeting.Standing now, long process, RaftFiles.Met met) {
        if (now.life() < met.life() || (now.life() == met.life() && process != met.process())) {
            return "this is life " + now.life() + " of its directory, but node " + self + " has met "
                    + (now.life() < met.life() ? "life " + met.life() : "another process in that life");
        }
        if (now.term() < met.term() || (now.term() == met.term() && met.voted() && !now.voted())) {
            return "it is in term " + now.term() + (now.voted() ? "" : " without a vote") + ", but was in term "
                    + met.term() + (met.voted() ? " and has voted in it" : "");
        }
        return now.lastIndex() >= met.index()
                ? ""
                : "its log ends with entry " + now.lastIndex() + ", but it had entry " + met.index() + " for good";
    }

    /**
     * A node that was welcome is about to promise something; its life is noted durably. An old copy that others turn away does
     * not get so far, so that the newest one can still be put back.
     *
     * @throws IOException if it cannot be
     */
    void promises(int node) throws IOException {
        Greeting.Hello hello = greeted.remove(node);
        if (hello == null) {
            return;
        }
        Known known = known(node);
        Greeting.Standing standing = hello.standing();
        // Of another directory nothing counts that is known of the one before.
        RaftFiles.Met before = known == null || known.met.directory() != standing.directory()
                ? first(standing.directory())
                : known.met;
        RaftFiles.Met now = new RaftFiles.Met(standing.directory(), standing.life(), hello.process(), before.term(),
                before.voted(), before.index());
        if (!now.equals(before)) {
            note(node, now);
        }
    }

    /**
     * A node begins anew with another directory, which holds a copy of what this cluster has ordered up to a message that was
     * ordered without the node. So what it has promised with the one before counts no more; see {@link OrderCopy}.
     *
     * @param since it is late, and its directory none, if another that is known of lies behind this position
     * @param position of that message: what was said before another that is known of does not count
     * @return whether the node had another directory as far as was known here
     * @throws IOException if it cannot be noted
     */
    boolean replaced(int node, long itsDirectory, long since, long position) throws IOException {
        String last = REPLACED + node;
        long before = directory.exists(last) ? RaftFiles.read(directory, last, RaftFiles.Replaced.class).position() : 0;
        if (node == self || before >= position) {
            return false;
        }
        Known known = known(node);
        boolean another = before <= since && (known == null || known.met.directory() != itsDirectory);
        if (another) {
            greeted.remove(node);
            acknowledged.remove(node);
            note(node, first(itsDirectory));
        }
        RaftFiles.write(directory, last, new RaftFiles.Replaced(position));
        return another;
    }

    /**
     * Which nodes have been given copies: others may have been away when that was ordered, and would turn a node away from which
     * they would hear of it.
     *
     * @throws IOException if the notes cannot be read
     */
    List<PeerMessage.Replaced> replacements() throws IOException {
        List<PeerMessage.Replaced> all = new ArrayList<>();
        Notes notes = notes();
        notes.replaced.forEach((node, last) -> {
            RaftFiles.Met known = notes.met.get(node);
            if (known != null) {
                all.add(new PeerMessage.Replaced(node, known.directory(), last.position()));
            }
        });
        return all;
    }

    private Notes notes() throws IOException {
        Map<Integer, RaftFiles.Met> all = new TreeMap<>();
        for (String name : files(directory, MET)) {
            int node = Integer.parseInt(name.substring(MET.length()));
            Known known = known(node);
            if (known != null) {
                all.put(node, known.met);
            }
        }
        Map<Integer, RaftFiles.Replaced> replaced = new TreeMap<>();
        for (String name : files(directory, REPLACED)) {
            replaced.put(Integer.parseInt(name.substring(REPLACED.length())),
                    RaftFiles.read(directory, name, RaftFiles.Replaced.class));
        }
        return new Notes(all, replaced);
    }

    /**
     * What a node is to know that begins with a copy of this one's data.
     *
     * @param own number of this node's directory
     * @throws IOException if the notes cannot be read
     */
    Notes copied(long own) throws IOException {
        Notes notes = notes();
        notes.met.put(self, first(own));
        return notes;
    }

    private void note(int node, RaftFiles.Met now) throws IOException {
        RaftFiles.write(directory, MET + node, now);
        nodes.put(node, new Known(now));
    }

    /** A node that was welcome has told how far it has got. */
    void heard(int node, int term, boolean voted, long index) {
        Known known = nodes.get(node);
        if (known != null) {
            known.heard(term, voted, index);
        }
    }

    /**
     * Remembers what a message of Raft promises.
     *
     * @param leads whether this node leads in the message's term
     * @param committed the last entry that this node knows to be committed
     */
    void heard(int node, PeerMessage.Raft message, boolean leads, long committed) {
        int term = message.term();
        switch (message) {
            // Of a term that need not come.
            case PeerMessage.PreVoteRequest _,PeerMessage.PreVoteResponse _ -> {
            }
            case PeerMessage.VoteRequest _ -> heard(node, term, true, 0);
            case PeerMessage.VoteResponse(var _, boolean granted) -> heard(node, term, granted, 0);
            case PeerMessage.Appended appended when leads -> acknowledged(node, term, appended.lastIndex(), committed);
            // Who leads has on its disk what it says is committed.
            case PeerMessage.Append append -> heard(node, term, false, append.commitIndex());
            default -> heard(node, term, false, 0);
        }
    }

    /** A node has acknowledged all entries up to one to this node, which leads. */
    void acknowledged(int node, int term, long index, long committed) {
        if (term != acknowledgedTerm) {
            acknowledgedTerm = term;
            acknowledged.clear();
        }
        acknowledged.merge(node, index, Math::max);
        acknowledged.forEach((each, last) -> heard(each, term, false, Math.min(last, committed)));
    }

    /**
     * Notes in its file what was heard of the next node since, if anything was: of one at a time, since a file takes two forced writes, and
     * nothing else is done meanwhile.
     *
     * @return whether a file was written; if not, there is nothing more to note of any node behind the last one
     * @throws IOException if that fails
     */
    boolean saveNext() throws IOException {
        for (Map.Entry<Integer, Known> each : nodes.tailMap(savedLast, false).entrySet()) {
            Known known = each.getValue();
            // Somebody may have removed it, so that the node can come with another directory.
            if (!known.saved && directory.exists(MET + each.getKey())) {
                RaftFiles.write(directory, MET + each.getKey(), known.met);
                known.saved = true;
                savedLast = each.getKey();
                return true;
            }
        }
        savedLast = -1;
        return false;
    }
}
