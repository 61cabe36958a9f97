package tutti.wire;

import tutti.node.Transactions;

/**
 * What the sessions of a front end share. Safe for use from all event loops.
 *
 * @param transactions the node
 * @param capture the engine's capture service
 * @param own our own messages to the engine
 * @param heldLimit bytes of responses that a session holds back at most
 * @param repetitions how often a session runs a transaction again that has lost
 * @param losers lets transactions that have lost the same key run one after the other
 * @param loads lets transactions that load tables and schema changes come one after the other
 * @param kept what sessions keep of prepared statements
 * @param messages what sessions gather of long messages
 * @param changes for what transactions have changed that commit
 * @param registry the engine, as far as sessions concern it
 * @param sequences gets values of sequences
 * @param databases which there are, and how others are made
 */
record SessionServices(
        Transactions transactions,
        Capture capture,
        OwnMessages own,
        int heldLimit,
        int repetitions,
        RetryQueue losers,
        LoadsAndChanges loads,
        KeptBytes.Shared kept,
        KeptBytes.Shared messages,
        MemoryRoom changes,
        PostgresFrontEnd.SessionRegistry registry,
        SequenceSupply sequences,
        ClusterDatabases databases) {}
