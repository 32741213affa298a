package driver;

import java.nio.charset.StandardCharsets;
import org.apache.bookkeeper.auth.AuthCallbacks.GenericCallback;
import org.apache.bookkeeper.auth.AuthToken;
import org.apache.bookkeeper.auth.ClientAuthProvider;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.apache.bookkeeper.proto.ClientConnectionPeer;

/** A client's authentication of one message: the text under "driver.token"; any answer will do. */
public final class PlainToken implements ClientAuthProvider.Factory {
    private byte[] token;

    @Override
    public void init(ClientConfiguration configuration) {
        token = configuration.getString("driver.token", "").getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public String getPluginName() {
        return "driver-token";
    }

    @Override
    public ClientAuthProvider newProvider(ClientConnectionPeer connection, GenericCallback<Void> completed) {
        return new ClientAuthProvider() {
            @Override
            public void init(GenericCallback<AuthToken> send) {
                send.operationComplete(BKException.Code.OK, AuthToken.wrap(token));
            }

            @Override
            public void process(AuthToken answer, GenericCallback<AuthToken> send) {
                completed.operationComplete(BKException.Code.OK, null);
            }
        };
    }
}
