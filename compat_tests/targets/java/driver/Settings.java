package driver;

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
            configuration.setClientAuthProviderFactoryClass("org.apache.bookkeeper.sasl.SASLClientProviderFactory");
        }
        request.under("set.").forEach(configuration::setProperty);
        return configuration;
    }

    /** Java counts these in whole seconds; none is shorter than it was asked to be. */
    private static int seconds(Request request, String name) {
        return Math.max(1, (request.small(name) + 999) / 1000);
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
