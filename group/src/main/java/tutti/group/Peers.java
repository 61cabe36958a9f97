package tutti.group;

import java.util.Arrays;

/**
 * What is known of the other configured members from what they last said, and whether they are alive: a member is
 * suspected after a time of silence (an eventually perfect failure detector if the network is timely at last). Wrong
 * suspicions cost a change of view and never consistency.
 */
final class Peers {
    private static final long NEVER_HEARD = Long.MIN_VALUE;

    private final int self;
    private final long timeoutNanos;
    private final long[] heardAt;
    private final long[] incarnation;
    private final long[] promised;
    private final long[] installed;
    private final long[] end;
    private final boolean[] forgetful;
    /** Latest lives that anybody has spoken of. */
    private final long[] lives;
    private long highestView;

    Peers(int configured, int self, long timeoutNanos) {
        this.self = self;
        this.timeoutNanos = timeoutNanos;
        heardAt = new long[configured];
        Arrays.fill(heardAt, NEVER_HEARD);
        incarnation = new long[configured];
        promised = new long[configured];
        installed = new long[configured];
        end = new long[configured];
        forgetful = new boolean[configured];
        lives = new long[configured];
    }

    /** Something came from a member. */
    void heard(int member, long now) {
        heardAt[member] = now;
    }

    /** A member said how it is. What it said earlier than what is known is left out, as far as that shows. */
    void alive(int member, Packet.Alive said) {
        highestView = Math.max(highestView, Math.max(said.promised(), said.installed()));
        lives[member] = Math.max(lives[member], said.incarnation());
        if (said.incarnation() < incarnation[member]
                || (said.incarnation() == incarnation[member] && said.promised() < promised[member])) {
            return;
        }
        incarnation[member] = said.incarnation();
        promised[member] = said.promised();
        installed[member] = said.installed();
        end[member] = said.end();
        forgetful[member] = !said.remembers();
    }

    /** Somebody knows of these lives. */
    void lives(long[] known) {
        if (known.length != lives.length) {
            throw new ImpossiblePacket(known.length + " lives in a group of " + lives.length + " members");
        }
        for (int i = 0; i < known.length; i++) {
            lives[i] = Math.max(lives[i], known[i]);
        }
    }

    /** By member, the latest life that this one knows of, 0 if none. */
    long[] lives() {
        return lives.clone();
    }

    /** How many of the living others last said that they remember nothing and are in no view. */
    int forgetful(long now) {
        int count = 0;
        for (int i = 0; i < forgetful.length; i++) {
            if (i != self && forgetful[i] && installed[i] == 0 && alive(i, now)) {
                count++;
            }
        }
        return count;
    }

    /** Somebody promised or made this view. */
    void seen(long view) {
        highestView = Math.max(highestView, view);
    }

    /** The highest view number heard of. */
    long highestView() {
        return highestView;
    }

    boolean alive(int member, long now) {
        return member == self || (heardAt[member] != NEVER_HEARD && now - heardAt[member] <= timeoutNanos);
    }

    /** The living as bits, this member included. */
    long alive(long now) {
        long bits = 0;
        for (int i = 0; i < heardAt.length; i++) {
            if (alive(i, now)) {
                bits |= 1L << i;
            }
        }
        return bits;
    }

    /** Which life of the member was last heard of, 0 if none. */
    long incarnation(int member) {
        return incarnation[member];
    }

    /** Which view it last said to have promised. */
    long promised(int member) {
        return promised[member];
    }

    /** Which view it last said to be in, 0 if none. */
    long installed(int member) {
        return installed[member];
    }

    /** Where it last said that its log ends. */
    long end(int member) {
        return end[member];
    }
}
