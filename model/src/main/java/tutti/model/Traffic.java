package tutti.model;

/**
 * What went over a network.
 *
 * @param localBytes from hosts into their local networks, headers included, a multicast once
 * @param wideBytes over links between local networks
 * @param packets that were sent
 * @param lost that did not arrive where they should
 */
public record Traffic(long localBytes, long wideBytes, long packets, long lost) {}
