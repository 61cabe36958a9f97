package tutti.jgroups;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;
import org.jgroups.Address;
import org.jgroups.Event;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ObjectMessage;
import org.jgroups.Receiver;
import org.jgroups.protocols.DISCARD;
import org.jgroups.protocols.FRAG2;
import org.jgroups.protocols.SHARED_LOOPBACK;
import org.jgroups.protocols.SHARED_LOOPBACK_PING;
import org.jgroups.protocols.UFC;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.stack.Protocol;
import org.jgroups.util.MessageBatch;
import org.jgroups.util.Util;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels of real stacks in one virtual machine. */
class TotalOrderTest {
    private static final long PATIENCE = 60_000;
    private static final long HELD_BYTES = 100_000;

    private final List<Member> members = new ArrayList<>();
    /** Of each test another one: who has crashed is never quite gone. */
    private final String cluster = "total-order-" + UUID.randomUUID();

    /** Below the order: keeps back what one member sends, as a slow connection would, until it is opened. */
    private static final class Gate extends Protocol {
        private final Queue<Message> kept = new ConcurrentLinkedQueue<>();
        private volatile @Nullable Address from;

        void shut(Address sender) {
            from = sender;
        }

        void open() {
            from = null;
            for (Message next = kept.poll(); next != null; next = kept.poll()) {
                up_prot.up(next);
            }
        }

        @Override
        public Object up(Message message) {
            if (message.getSrc() != null && message.getSrc().equals(from)) {
                kept.add(message);
                return null;
            }
            return up_prot.up(message);
        }

        @Override
        public void up(MessageBatch batch) {
            batch.forEach(this::up);
        }
    }

    /** A channel, and what it has received in total order. */
    private static final class Member implements Receiver {
        final JChannel channel;
        final TotalOrder order;
        final List<String> received = new ArrayList<>();
        final Gate gate = new Gate();

        Member(Class<? extends TotalOrder> type, String name) throws Exception {
            order = type.getConstructor().newInstance();
            order.setValue("settled_interval", 100);
            order.setValue("max_held", HELD_BYTES);
            channel = new JChannel(List.<Protocol>of(new SHARED_LOOPBACK(), new DISCARD(), new SHARED_LOOPBACK_PING(),
                    new NAKACK2().useMcastXmit(false), new UNICAST3(), new STABLE(),
                    new GMS().setJoinTimeout(2000).printLocalAddress(false), new UFC(), new FRAG2(), gate, order));
            channel.setName(name);
            channel.setReceiver(this);
        }

        Member connect(String cluster) throws Exception {
            channel.connect(cluster);
            return this;
        }

        @Override
        public void receive(Message message) {
            synchronized (received) {
                received.add(message.getObject());
            }
        }

        List<String> received() {
            synchronized (received) {
                return List.copyOf(received);
            }
        }

        Address address() {
            return channel.getAddress();
        }

        void send(String text, Address... to) throws Exception {
            channel.send(new ObjectMessage(new Anycast(to), text));
        }

        GMS views() {
            return channel.getProtocolStack().findProtocol(GMS.class);
        }

        DISCARD discard() {
            return channel.getProtocolStack().findProtocol(DISCARD.class);
        }

        /** Ends it in a way that it tells nobody. */
        void crash() throws Exception {
            if (channel.isConnected()) {
                Util.shutdown(channel);
            }
        }

        void leave() {
            channel.close();
        }
    }

    @AfterEach
    void endAll() throws Exception {
        // Members that leave together can wait for each other for ever (GMS of 5.5.1).
        for (Member member : members) {
            member.crash();
        }
    }

    private static Class<? extends TotalOrder> type(int steps) {
        return steps == 2 ? TOM2.class : TOM3.class;
    }

    private void start(int steps, int count) throws Exception {
        start(steps, count, true);
    }

    private void start(int steps, int count, boolean majority) throws Exception {
        for (int i = 0; i < count; i++) {
            Member member = new Member(type(steps), String.valueOf((char) ('a' + i)));
            member.order.setValue("majority", majority);
            members.add(member.connect(cluster));
        }
        await("all are there", () -> members.stream().allMatch(member -> sees(member, count)));
    }

    private static boolean sees(Member member, int count) {
        return member.channel.getView() != null && member.channel.getView().size() == count && member.order.isActive();
    }

    private void await(String what, BooleanSupplier condition) throws Exception {
        Util.waitUntil(PATIENCE, 10, condition,
                () -> what + members.stream().map(member -> "\n" + member.order.printViews()).toList());
    }

    /** Sends messages to members drawn at random; returns who is to receive each. */
    private Map<String, Set<Member>> sendSome(List<Member> senders, int each, Random random) throws Exception {
        Map<String, Set<Member>> all = new HashMap<>();
        for (int i = 0; i < each; i++) {
            for (Member sender : senders) {
                Set<Member> to = new HashSet<>();
                while (to.isEmpty()) {
                    members.stream().filter(_ -> random.nextBoolean()).forEach(to::add);
                }
                String text = sender.channel.getName() + i;
                sender.send(text, to.stream().map(Member::address).toArray(Address[]::new));
                all.put(text, to);
            }
        }
        return all;
    }

    /** Whether some order of all messages has each of these in it. */
    private static void assertNoCircles(List<List<String>> orders) {
        List<List<String>> left = new ArrayList<>();
        orders.forEach(order -> left.add(new ArrayList<>(order)));
        while (left.stream().anyMatch(order -> !order.isEmpty())) {
            String next = left.stream().filter(order -> !order.isEmpty()).map(List::getFirst)
                    .filter(first -> left.stream().allMatch(order -> order.indexOf(first) <= 0)).findFirst()
                    .orElseThrow(() -> new AssertionError("circle: " + left));
            left.forEach(order -> order.remove(next));
        }
    }

    private static void assertReceived(Member member, Map<String, Set<Member>> sent) {
        Set<String> expected = new TreeSet<>();
        sent.forEach((text, to) -> {
            if (to.contains(member)) {
                expected.add(text);
            }
        });
        assertEquals(expected, new TreeSet<>(member.received()), member.channel.getName());
        assertEquals(expected.size(), member.received().size(), "each once");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void messagesToSomeHaveOneOrderWithoutCircles(int steps) throws Exception {
        start(steps, 4);
        Map<String, Set<Member>> sent = sendSome(members, 60, new Random(steps));
        long expected = sent.values().stream().mapToLong(Set::size).sum();
        await("everything is delivered",
                () -> members.stream().mapToLong(member -> member.received().size()).sum() == expected);
        members.forEach(member -> assertReceived(member, sent));
        assertNoCircles(members.stream().map(Member::received).toList());
        await("nothing is kept", () -> members.stream().allMatch(member -> member.order.getKept() == 0));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void othersAgreeWhenOneCrashesAndOneComes(int steps) throws Exception {
        start(steps, 4);
        Member crashing = members.getFirst();
        Map<String, Set<Member>> before = sendSome(members, 30, new Random(steps));
        Address gone = crashing.address();
        crashing.crash();
        List<Member> left = List.copyOf(members.subList(1, 4));
        left.forEach(member -> member.views().up(new Event(Event.SUSPECT, List.of(gone))));
        await("the others go on", () -> left.stream().allMatch(member -> sees(member, 3)));
        members.add(new Member(type(steps), "e").connect(cluster));
        await("another one is there", () -> members.subList(1, 5).stream().allMatch(member -> sees(member, 4)));
        Address[] all = members.subList(1, 5).stream().map(Member::address).toArray(Address[]::new);
        for (Member member : members.subList(1, 5)) {
            member.send("last of " + member.channel.getName(), all);
        }
        await("the last messages are there", () -> members.subList(1, 5).stream()
                .allMatch(member -> member.received().stream().filter(text -> text.startsWith("last")).count() == 4));
        assertNoCircles(members.stream().map(Member::received).toList());
        Set<String> seen = new HashSet<>();
        members.forEach(member -> seen.addAll(member.received()));
        before.forEach((text, to) -> {
            if (seen.contains(text) || !text.startsWith("a")) {
                left.stream().filter(to::contains)
                        .forEach(member -> assertTrue(member.received().contains(text), text + " at "
                                + member.channel.getName()));
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void aPartWithoutMajorityOrdersNothingAndBeginsAnewWithTheOthers(int steps) throws Exception {
        start(steps, 5);
        List<Member> more = List.copyOf(members.subList(0, 3));
        List<Member> less = List.copyOf(members.subList(3, 5));
        cut(more, less);
        cut(less, more);
        suspect(more, less);
        suspect(less, more);
        await("both parts have their views", () -> more.stream().allMatch(member -> sees(member, 3))
                && less.stream().allMatch(member -> member.channel.getView().size() == 2));
        Address[] all = members.stream().map(Member::address).toArray(Address[]::new);
        less.getFirst().send("late", all);
        less.getFirst().send("here", less.get(0).address(), less.get(1).address());
        more.getFirst().send("soon", all);
        await("the majority delivers", () -> more.stream().allMatch(member -> member.received().contains("soon")));
        less.forEach(member -> {
            assertFalse(member.order.isActive());
            assertEquals(List.of(), member.received());
        });
        merge(more.getFirst(), less.getFirst(), 5);
        await("what waited is delivered", () -> members.stream().allMatch(member -> member.received().contains("late"))
                && less.stream().allMatch(member -> member.received().contains("here")));
        assertNoCircles(members.stream().map(Member::received).toList());
    }

    /** Ends a partition into the parts of these two. */
    private void merge(Member first, Member second, int count) throws Exception {
        members.forEach(member -> member.discard().resetIgnoredMembers());
        Event merge = new Event(Event.MERGE,
                Map.of(first.address(), first.channel.getView(), second.address(), second.channel.getView()));
        boolean whole = false;
        for (int tries = 0; tries < 20 && !whole; tries++) {
            // The one of both that leads it does; an attempt may be given up.
            first.views().up(merge);
            second.views().up(merge);
            whole = Util.waitUntilTrue(PATIENCE / 20, 10,
                    () -> members.stream().allMatch(member -> sees(member, count)));
        }
        assertTrue(whole, "the group is whole");
    }

    /** What its coordinator says of the new view comes late; what others order in it meanwhile is more than may be held. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void whoWouldHoldTooMuchForALaterViewBeginsAnewBehindIt(int steps) throws Exception {
        start(steps, 3);
        Member late = members.get(2);
        Member sender = members.get(1);
        late.gate.shut(members.getFirst().address());
        members.add(new Member(type(steps), "d").connect(cluster));
        await("the view is there", () -> late.channel.getView().size() == 4);
        await("its coordinator hears no report", () -> !late.order.isActive());
        // The coordinator uses it, as it hears all.
        await("others use it", () -> sees(members.getFirst(), 4) && sees(sender, 4) && sees(members.get(3), 4));
        String large = "x".repeat(10_000);
        for (int i = 0; i < 30; i++) {
            sender.send("large " + i + large, sender.address(), late.address());
        }
        await("much was sent", () -> sender.order.getOrdered() == 30);
        await("it comes", () -> late.order.printViews().contains("missed"));
        assertTrue(late.order.getHeldBytes() <= HELD_BYTES);
        late.gate.open();
        await("all go on", () -> members.stream().allMatch(member -> sees(member, 4)));
        await("others go on", () -> sender.received().size() == 30);
        Map<String, Set<Member>> sent = sendSome(members, 20, new Random(steps));
        await("everything is delivered", () -> members.stream().allMatch(member -> sent.entrySet().stream()
                .filter(each -> each.getValue().contains(member))
                .allMatch(each -> member.received().contains(each.getKey()))));
        assertNoCircles(members.stream().map(Member::received).toList());
    }

    /** Without {@code majority}. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void partsThatNeedNoMajorityGoOnByThemselvesAndTogetherAgain(int steps) throws Exception {
        start(steps, 3, false);
        List<Member> more = List.copyOf(members.subList(0, 2));
        List<Member> less = List.copyOf(members.subList(2, 3));
        cut(more, less);
        cut(less, more);
        suspect(more, less);
        suspect(less, more);
        await("both parts go on", () -> more.stream().allMatch(member -> sees(member, 2)) && sees(less.getFirst(), 1));
        Address[] all = members.stream().map(Member::address).toArray(Address[]::new);
        more.getFirst().send("two", all);
        less.getFirst().send("one", all);
        await("each delivers its own", () -> more.stream().allMatch(member -> member.received().equals(List.of("two")))
                && less.getFirst().received().equals(List.of("one")));
        merge(more.getFirst(), less.getFirst(), 3);
        for (Member member : members) {
            member.send("last of " + member.channel.getName(), all);
        }
        await("the last messages are there", () -> members.stream().allMatch(member -> member.received().size() == 4));
        assertNoCircles(members.stream().map(member -> member.received().subList(1, 4)).toList());
        members.forEach(member -> assertEquals(0, member.order.getLost()));
    }

    private static void cut(List<Member> at, List<Member> from) {
        at.forEach(member -> from.forEach(other -> member.discard().addIgnoreMember(other.address())));
    }

    private static void suspect(List<Member> at, List<Member> who) {
        List<Address> gone = who.stream().map(Member::address).toList();
        at.forEach(member -> member.views().up(new Event(Event.SUSPECT, gone)));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void otherMessagesPassAndWhoIsGoneIsLeftOut(int steps) throws Exception {
        start(steps, 2);
        Member first = members.getFirst();
        Address gone = members.get(1).address();
        first.channel.send(new ObjectMessage(null, "to all"));
        first.channel.send(new ObjectMessage(gone, "to one"));
        await("they are there", () -> members.get(1).received().size() == 2 && first.received().size() == 1);
        members.get(1).leave();
        await("one is gone", () -> sees(first, 1));
        first.send("rest", first.address(), gone);
        first.send("nobody", gone);
        await("the rest is there", () -> first.received().contains("rest"));
        assertEquals(1, first.order.getLost());
        assertThrows(IllegalArgumentException.class, () -> new Anycast(List.of()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"TOM2", "TOM3"})
    void aStackIsConfiguredByItsFile(String name) throws Exception {
        String file = """
                <config xmlns="urn:org:jgroups">
                  <SHARED_LOOPBACK/><SHARED_LOOPBACK_PING/><pbcast.NAKACK2 use_mcast_xmit="false"/><UNICAST3/>
                  <pbcast.STABLE/><pbcast.GMS join_timeout="100ms"/><UFC/><FRAG2/>
                  <tutti.jgroups.%s crashes="0" majority="false" settled_interval="2s"/>
                </config>""".formatted(name);
        try (JChannel channel = new JChannel(new ByteArrayInputStream(
                file.getBytes(StandardCharsets.UTF_8)))) {
            channel.connect("alone");
            TotalOrder order = channel.getProtocolStack().findProtocol(TotalOrder.class);
            await("it is used", order::isActive);
            List<String> received = Collections.synchronizedList(new ArrayList<>());
            channel.setReceiver(new Receiver() {
                @Override
                public void receive(Message message) {
                    received.add(message.getObject());
                }
            });
            channel.send(new ObjectMessage(new Anycast(channel.getAddress()), "alone"));
            await("it is delivered", () -> received.equals(List.of("alone")));
        }
    }
}
