package tutti.jgroups;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import org.jgroups.Address;
import org.jgroups.util.Util;

/**
 * Several members, to which a message goes in total order. An address for {@link org.jgroups.Message#setDest} that only {@link TOM2} and
 * {@link TOM3} understand. Immutable but for {@link #readFrom}.
 */
public final class Anycast implements Address {
    private List<Address> members = List.of();

    /** For JGroups, which fills it in. */
    public Anycast() {
        // As every address must have one.
    }

    /**
     * Of these members, each once.
     *
     * @throws IllegalArgumentException if there are none
     */
    public Anycast(Collection<? extends Address> members) {
        if (members.isEmpty()) {
            throw new IllegalArgumentException("an anycast goes to one member at least");
        }
        this.members = List.copyOf(new TreeSet<>(members));
    }

    /** The same. */
    public Anycast(Address... members) {
        this(List.of(members));
    }

    /** The members, ascending. */
    public List<Address> members() {
        return members;
    }

    @Override
    public boolean isMulticast() {
        return true;
    }

    @Override
    public int compareTo(Address other) {
        return toString().compareTo(other.toString());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Anycast anycast && anycast.members.equals(members);
    }

    @Override
    public int hashCode() {
        return members.hashCode();
    }

    @Override
    public int serializedSize() {
        return Util.size(members);
    }

    @Override
    public void writeTo(DataOutput out) throws IOException {
        Util.writeAddresses(members, out);
    }

    @Override
    public void readFrom(DataInput in) throws IOException, ClassNotFoundException {
        members = List.of(Util.readAddresses(in));
    }

    @Override
    public String toString() {
        return members.toString();
    }
}
