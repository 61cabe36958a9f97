package tutti.jgroups;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.function.Supplier;
import org.jgroups.Global;
import org.jgroups.Header;
import org.jgroups.ViewId;
import org.jgroups.util.Util;

/** On what members tell each other for the order: the view that it is about or was sent in, and the sender's number in it. */
public final class TotalOrderHeader extends Header {
    static final short MAGIC = 17402;

    private ViewId view = new ViewId();
    private int number;

    /** For JGroups, which fills it in. */
    public TotalOrderHeader() {}

    TotalOrderHeader(ViewId view, int number) {
        this.view = view;
        this.number = number;
    }

    ViewId view() {
        return view;
    }

    int number() {
        return number;
    }

    @Override
    public short getMagicId() {
        return MAGIC;
    }

    @Override
    public Supplier<? extends Header> create() {
        return TotalOrderHeader::new;
    }

    @Override
    public int serializedSize() {
        return Util.size(view) + Global.INT_SIZE;
    }

    @Override
    public void writeTo(DataOutput out) throws IOException {
        Util.writeViewId(view, out);
        out.writeInt(number);
    }

    @Override
    public void readFrom(DataInput in) throws IOException, ClassNotFoundException {
        view = Util.readViewId(in);
        number = in.readInt();
    }

    @Override
    public String toString() {
        return "from " + number + " in " + view;
    }
}
