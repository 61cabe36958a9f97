package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.SQLException;
import java.util.ArrayDeque;

/**
 * PostgreSQL's binary form of {@code numeric}: number of digits to the base of 10,000, weight of the first one, sign,
 * decimal digits behind the point, digits; all of 16 bits.
 */
final class PgNumeric {
    private static final BigInteger BASE = BigInteger.valueOf(10_000);
    private static final int BASE_DIGITS = 4;
    private static final int POSITIVE = 0;
    private static final int NEGATIVE = 0x4000;

    private PgNumeric() {}

    static void write(ByteBuf out, BigDecimal value) {
        int scale = Math.max(value.scale(), 0);
        int fractionDigits = (scale + BASE_DIGITS - 1) / BASE_DIGITS;
        BigInteger rest = value.abs().setScale(fractionDigits * BASE_DIGITS).unscaledValue();
        ArrayDeque<Integer> digits = new ArrayDeque<>();
        while (rest.signum() > 0) {
            BigInteger[] parts = rest.divideAndRemainder(BASE);
            digits.addFirst(parts[1].intValue());
            rest = parts[0];
        }
        int weight = digits.size() - fractionDigits - 1;
        while (!digits.isEmpty() && digits.getLast() == 0) {
            digits.removeLast();
        }
        out.writeShort(digits.size()).writeShort(digits.isEmpty() ? 0 : weight)
                .writeShort(value.signum() < 0 ? NEGATIVE : POSITIVE).writeShort(scale);
        digits.forEach(out::writeShort);
    }

    static BigDecimal read(ByteBuf in) throws SQLException {
        int count = in.readUnsignedShort();
        int weight = in.readShort();
        int sign = in.readUnsignedShort();
        int scale = in.readUnsignedShort();
        if ((sign != POSITIVE && sign != NEGATIVE) || count * 2 > in.readableBytes()) {
            throw new SQLException("a numeric parameter is not a number", "22P03");
        }
        BigInteger digits = BigInteger.ZERO;
        for (int i = 0; i < count; i++) {
            digits = digits.multiply(BASE).add(BigInteger.valueOf(in.readUnsignedShort()));
        }
        BigDecimal value = new BigDecimal(digits, (count - weight - 1) * BASE_DIGITS)
                .setScale(scale, java.math.RoundingMode.HALF_UP);
        return sign == NEGATIVE ? value.negate() : value;
    }
}
