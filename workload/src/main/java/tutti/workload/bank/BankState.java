package tutti.workload.bank;

import java.util.List;

/**
 * What a bank's database holds.
 *
 * @param balances by account; must not be modified
 * @param transfers those whose record is there
 */
public record BankState(long[] balances, List<BankOperation.Transfer> transfers) {
    public BankState {
        transfers = List.copyOf(transfers);
    }
}
