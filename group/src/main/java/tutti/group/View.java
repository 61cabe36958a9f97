package tutti.group;

import java.util.Arrays;

/**
 * Who works together, from which log on. Members are indexes into the sorted list of configured ones; a place is an index
 * into {@code members}.
 *
 * @param number of the view; modulo the number of configured members it is the one that made it, its sequencer
 * @param members ascending
 * @param incarnations which life of each
 * @param start last position of the log with which it begins
 * @param startView in which view that was ordered
 */
record View(long number, int[] members, long[] incarnations, long start, long startView) {
    /** Who alone may make a view of this number, given how many members are configured. */
    static int maker(long number, int configured) {
        return (int) (number % configured);
    }

    /** The least number above this one that this member may use. */
    static long after(long number, int member, int configured) {
        long next = number - number % configured + member;
        return next > number ? next : next + configured;
    }

    /** Place of a member, negative if it is not in the view. */
    int place(int member) {
        return Arrays.binarySearch(members, member);
    }

    Packet.Install packet(long committed) {
        return new Packet.Install(number, members, incarnations, start, startView, committed);
    }
}
