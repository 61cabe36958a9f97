/** Programs that know nothing of Tutti, against a cluster of three nodes. */
@org.jspecify.annotations.NullMarked
package tutti.cli.clients;
