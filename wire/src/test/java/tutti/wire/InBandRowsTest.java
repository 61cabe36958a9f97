package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which rows that statements tell are believed. */
class InBandRowsTest {
    private static final String ENTRY = "u16400(1,2)";

    private final InBandRows rows = new InBandRows();

    private byte[] entries(String told) {
        InBandParse sent = new InBandParse(new InBandStatement(16400, new byte[0], new byte[0], 0, false, 1 << 20, true,
                "now"), 0, 0, new byte[0]);
        sent.confirm();
        rows.expect(sent);
        ByteBuf column = Unpooled.copiedBuffer(told, StandardCharsets.UTF_8);
        rows.row(column, 0, column.readableBytes());
        return rows.entries();
    }

    @ParameterizedTest
    @ValueSource(strings = {"S0;", "Tt;", "S0;DISO, MDY;", "Tt;F3;Bhex;"})
    void rowsOfTheTablesOwn(String settings) {
        assertEquals(ENTRY, new String(entries("\u00e9" + settings + ENTRY), StandardCharsets.UTF_8));
        assertFalse(rows.temporaries());
    }

    @ParameterizedTest
    @CsvSource({"S16401;, true", "S00;, true", "S;, true", "Tf;, false", "Ttt;, false", "T;, false", "Xt;, false",
            "'S0;DGerman, DMY;', false", "S0, false"})
    void rowsThatAreNotBelieved(String settings, boolean temporaries) {
        assertNull(entries("\u00e9" + settings + ENTRY));
        assertEquals(temporaries, rows.temporaries());
    }
}
