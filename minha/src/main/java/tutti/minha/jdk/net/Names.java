package tutti.minha.jdk.net;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.Machine;

/**
 * The names of a simulation: the static methods of {@link InetAddress}, answered by the machines there are instead of by a
 * name service. Addresses are the JDK's own; do not ask them for their names, which would ask the real world, but
 * {@link #getHostName}. Only IPv4.
 */
public final class Names {
    private static final String LOCALHOST = "localhost";
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final InetAddress ANY = InetAddress.ofLiteral("0.0.0.0");

    private Names() {}

    /**
     * The address of a machine, or what a literal says; null and the empty name are this machine by its loopback address.
     *
     * @throws UnknownHostException if there is no such machine
     */
    public static InetAddress getByName(@Nullable String host) throws UnknownHostException {
        if (host == null || host.isEmpty()) {
            return getLoopbackAddress();
        }
        if (host.equals(LOCALHOST)) {
            return InetAddress.getByAddress(LOCALHOST, LOOPBACK.getAddress());
        }
        Machine known = Jvm.current().machine().simulation().find(host);
        if (known != null) {
            return InetAddress.getByAddress(host, known.address().getAddress());
        }
        try {
            return InetAddress.ofLiteral(host);
        } catch (IllegalArgumentException _) {
            UnknownHostException unknown = new UnknownHostException(host + ": Name or service not known");
            throw unknown;
        }
    }

    /** {@link #getByName} as the only element. */
    public static InetAddress[] getAllByName(@Nullable String host) throws UnknownHostException {
        return new InetAddress[]{getByName(host)};
    }

    /** This machine. */
    public static InetAddress getLocalHost() {
        Machine here = Jvm.current().machine();
        try {
            return InetAddress.getByAddress(here.name(), here.address().getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException(here + " has no usable address", e);
        }
    }

    /** 127.0.0.1. */
    public static InetAddress getLoopbackAddress() {
        return LOOPBACK;
    }

    /** The name of the machine with an address, or the address as text. */
    public static String getHostName(InetAddress of) {
        if (of.isLoopbackAddress()) {
            return LOCALHOST;
        }
        Machine machine = Jvm.current().machine().simulation().find(of);
        return machine == null ? of.getHostAddress() : machine.name();
    }

    /** 0.0.0.0. */
    static InetAddress any() {
        return ANY;
    }

    /** The machine that an address means on another, or null. */
    static @Nullable Machine find(Machine from, InetAddress address) {
        if (address.isLoopbackAddress() || address.isAnyLocalAddress()) {
            return from;
        }
        return from.simulation().find(address);
    }

    /** The address that messages come from which are sent from a machine to an address. */
    static InetAddress source(Machine from, InetAddress to) {
        return to.isLoopbackAddress() || to.isAnyLocalAddress() ? LOOPBACK : from.address();
    }
}
