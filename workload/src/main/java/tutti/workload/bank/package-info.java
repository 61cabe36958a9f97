/**
 * The bank workload: transfers between accounts, and reads of all balances, whose sum never changes. What clients do is
 * pure and seeded ({@link tutti.workload.bank.BankInputs}); what they saw is a {@link tutti.workload.bank.BankHistory};
 * {@link tutti.workload.bank.BankRun} runs it over JDBC.
 */
@NullMarked
package tutti.workload.bank;

import org.jspecify.annotations.NullMarked;
