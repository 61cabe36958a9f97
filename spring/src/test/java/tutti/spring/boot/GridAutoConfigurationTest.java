package tutti.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.cache.CacheManager;
import org.springframework.cache.support.NoOpCacheManager;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.PlatformTransactionManager;
import tutti.grid.GridConfig;
import tutti.grid.api.Grid;
import tutti.runtime.real.FreePorts;
import tutti.spring.GridCacheManager;
import tutti.spring.GridTransactionManager;

/** What an application with Spring Boot has when this module is there. */
@Timeout(60)
class GridAutoConfigurationTest {
    @Configuration
    @EnableAutoConfiguration
    static class Application {}

    @Configuration
    @EnableAutoConfiguration
    static class WithItsOwnCaches {
        @Bean
        CacheManager own() {
            return new NoOpCacheManager();
        }
    }

    private static ConfigurableApplicationContext run(Class<?> application, String... properties) {
        return new SpringApplicationBuilder(application).web(WebApplicationType.NONE).logStartupInfo(false)
                .bannerMode(org.springframework.boot.Banner.Mode.OFF)
                .run(Arrays.stream(properties).map(each -> "--" + each).toArray(String[]::new));
    }

    private static String[] node(String... more) throws IOException {
        int port = FreePorts.addresses(1).getFirst().getPort();
        return Stream.concat(Stream.of("tutti.grid.self=0", "tutti.grid.nodes.0=127.0.0.1:" + port,
                "tutti.grid.caches.prices.degree=1"), Stream.of(more)).toArray(String[]::new);
    }

    @Test
    void aGridIsOpenedAndServesCachesAndTransactions() throws IOException {
        try (ConfigurableApplicationContext context = run(Application.class,
                node("tutti.grid.caches.prices.time-to-live=10m",
                        "tutti.grid.protocol=tom-2", "tutti.grid.stored-bytes-max=1MB",
                        "tutti.grid.unsent-bytes-max=2MB", "tutti.grid.name=shop",
                        "tutti.grid.heartbeat=100ms", "tutti.grid.failure-timeout=5s"))) {
            assertTrue(context.getBean(CacheManager.class) instanceof GridCacheManager);
            assertTrue(context.getBean(PlatformTransactionManager.class) instanceof GridTransactionManager);
            context.getBean(CacheManager.class).getCache("prices").put("pears", 5);
            assertEquals(5, context.getBean(CacheManager.class).getCache("prices").get("pears").get());
            assertTrue(context.getBean(Grid.class).metrics().contains("shop"), context.getBean(Grid.class).metrics());
            GridConfig config = context.getBean(GridProperties.class).config();
            assertEquals(1 << 20, config.storedBytesMax());
            assertEquals(2 << 20, config.unsentBytesMax());
            assertEquals(600, config.caches().getFirst().timeToLive().toSeconds());
            assertEquals(100, config.heartbeat().toMillis());
            assertEquals(5, config.failureTimeout().toSeconds());
            assertEquals(Set.of(0), config.founders());
        }
    }

    /** One that joins knows the address of one that is there, which has not founded the grid either. */
    @Test
    void foundersMayBeOthersThanTheNodesThatAreKnownAndNodesOfAFurtherGroup() {
        GridProperties properties = new Binder(new MapConfigurationPropertySource(Map.of("tutti.grid.self", "7",
                "tutti.grid.nodes.7", "here:1", "tutti.grid.nodes.5", "there:2", "tutti.grid.founders", "0,1,2",
                "tutti.grid.further-group", "6,7,8", "tutti.grid.protocol", "groups", "tutti.grid.caches.prices.degree",
                "3")))
                .bind("tutti.grid", GridProperties.class).get();
        assertEquals(Set.of(0, 1, 2), properties.config().founders());
        assertEquals(Set.of(5, 7), properties.config().nodes().keySet());
        assertEquals(Set.of(6, 7, 8), properties.config().furtherGroup());
    }

    @Test
    void anApplicationsOwnManagerStays() throws IOException {
        try (ConfigurableApplicationContext context = run(WithItsOwnCaches.class, node())) {
            assertTrue(context.getBean(CacheManager.class) instanceof NoOpCacheManager);
            assertNotNull(context.getBean(GridTransactionManager.class));
        }
    }

    @Test
    void withoutANumberThereIsNoGrid() {
        try (ConfigurableApplicationContext context = run(Application.class)) {
            assertEquals(0, context.getBeanNamesForType(Grid.class).length);
            assertEquals(0, context.getBeanNamesForType(CacheManager.class).length);
        }
    }

    @Test
    void whatIsMissingIsNamed() {
        String none = causes(assertThrows(RuntimeException.class, () -> run(Application.class, "tutti.grid.self=0")));
        assertTrue(none.contains("tutti.grid.nodes.0=host:port"), none);
        String port = causes(assertThrows(RuntimeException.class,
                () -> run(Application.class, "tutti.grid.self=0", "tutti.grid.nodes.0=here",
                        "tutti.grid.caches.a.degree=1")));
        assertTrue(port.contains("tutti.grid.nodes.0 is 'here': write HOST:PORT"), port);
    }

    private static String causes(Throwable of) {
        StringBuilder all = new StringBuilder();
        for (Throwable each = of; each != null; each = each.getCause()) {
            all.append(each.getMessage()).append('\n');
        }
        return all.toString();
    }
}
