/**
 * The simulated network: segments (local networks with multicast) joined by links, hosts attached to segments, and
 * datagrams that are late, lost, doubled or overtaken as bandwidth, queues and faults have it (D5.1, section 2.3.4).
 *
 * <pre>{@code
 * Network network = new Network(kernel);
 * Segment lan = network.segment("lan", LinkConfig.LAN);
 * network.attach(a, lan);
 * network.attach(b, lan);
 * a.onBoot(h -> network.bind(a, 7000, datagram -> received(datagram.payload())));
 * b.onBoot(h -> network.send(Datagram.of(Address.of("b", 7000), Address.of("a", 7000), bytes)));
 * a.boot();
 * b.boot();
 * kernel.run();
 * }</pre>
 */
@NullMarked
package tutti.sim.net;

import org.jspecify.annotations.NullMarked;
