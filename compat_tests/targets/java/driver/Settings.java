package driver;

import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** The settings of a client: those that any client has, under their neutral names, and Java's own after "set.". */
final class Settings {
    private Settings() {
    }

    static ClientConfiguration of(Request request) {
        ClientConfiguration configuration = new ClientConfiguration();
        configuration.setMetadataServiceUri(request.text("uri"));
        configuration.setUseV2WireProtocol(request.flag("v2"));
        if (request.has("read_timeout_ms")) {
            configuration.setReadEntryTimeout(seconds(request, "read_timeout_ms"));
            configuration.setProperty("timeoutMonitorIntervalSec", 1);
        }
        if (request.has("add_timeout_ms")) {
            configuration.setAddEntryTimeout(seconds(request, "add_timeout_ms"));
            configuration.setProperty("timeoutMonitorIntervalSec", 1);
        }
        if (request.has("connect_timeout_ms")) {
            configuration.setClientConnectTimeoutMillis(request.small("connect_timeout_ms"));
        }
        if (request.has("explicit_lac_interval_ms")) {
            configuration.setExplictLacInterval(request.small("explicit_lac_interval_ms"));
        }
        if (request.has("batch_read")) {
            configuration.setProperty("batchReadEnabled", request.flag("batch_read"));
        }
        if (request.has("tls_trust")) {
            tls(configuration, request);
        }
        if (request.has("auth_user")) {
            sasl(configuration, request);
        }
        request.under("set.").forEach(configuration::setProperty);
        return configuration;
    }

    /** Java counts these in whole seconds; none is shorter than it was asked to be. */
    private static int seconds(Request request, String name) {
        return Math.max(1, (request.small(name) + 999) / 1000);
    }

    /** Java takes user and password from the login configuration of its process, of which there is one. */
    private static void sasl(ClientConfiguration configuration, Request request) {
        configuration.setClientAuthProviderFactoryClass("org.apache.bookkeeper.sasl.SASLClientProviderFactory");
        Map<String, String> login = Map.of("username", request.text("auth_user"), "password", request.text("auth_password"));
        AppConfigurationEntry entry = new AppConfigurationEntry("org.apache.zookeeper.server.auth.DigestLoginModule",
            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, login);
        Configuration.setConfiguration(new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                return name.equals("BookKeeper") ? new AppConfigurationEntry[] {entry} : null;
            }
        });
    }

    private static void tls(ClientConfiguration configuration, Request request) {
        configuration.setTLSProviderFactoryClass("org.apache.bookkeeper.tls.TLSContextFactory");
        configuration.setProperty("tlsProvider", "JDK");
        configuration.setProperty("clientTrustStoreType", "PEM");
        configuration.setProperty("clientTrustStore", request.text("tls_trust"));
        configuration.setProperty("tlsHostnameVerificationEnabled", request.flag("tls_hostname"));
        if (request.has("tls_certificate")) {
            configuration.setProperty("tlsClientAuthentication", true);
            configuration.setProperty("clientKeyStoreType", "PEM");
            configuration.setProperty("clientKeyStore", request.text("tls_key"));
            configuration.setProperty("tlsCertificatePath", request.text("tls_certificate"));
        }
    }
}
