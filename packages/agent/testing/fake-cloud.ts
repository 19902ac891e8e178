/**
 * A cloud on loopback: its hosts with their real names, over TLS, behind a proxy that the libraries find by
 * HTTPS_PROXY. So the libraries use the URLs of production, and no request leaves this machine.
 */
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

interface CloudRequest {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: string;
}
interface CloudAnswer {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}
/** Answers a request; undefined sends no answer. */
type Host = (request: CloudRequest) => Promise<CloudAnswer | undefined> | CloudAnswer | undefined;

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Creates a certificate for these hosts that this process trusts. */
async function trustedCertificate(names: readonly string[]): Promise<{ cert: string; key: string }> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: ['a cloud of the test'] }],
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
    keys,
    signingAlgorithm: ecdsa,
    extensions: [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value })))],
  });
  const cert = certificate.toString('pem');
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return { cert, key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n` };
}

export async function startFakeCloud(hosts: Readonly<Record<string, Host>>) {
  const server = createTlsServer(await trustedCertificate(Object.keys(hosts)), (request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = '', headers } = request;
      const url = new URL(request.url ?? '/', `https://${headers.host}`);
      const host = hosts[url.hostname];
      const answer = await host?.({ method, url, headers, body: Buffer.concat(chunks).toString() });
      if (answer === undefined) return;
      const { status, body, headers: others } = answer;
      response.writeHead(status, { 'content-type': 'application/json', ...others });
      response.end(body === undefined ? '' : JSON.stringify(body));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  /** Requests for unknown hosts or paths. */
  const strangers: string[] = [];
  const proxy = createServer();
  proxy.on('connect', ({ url = '' }, socket) => {
    socket.on('error', () => undefined);
    const host = url.replace(/:443$/, '');
    if (hosts[host] === undefined) {
      strangers.push(url);
      socket.end('HTTP/1.1 502 No such host\r\n\r\n');
      return;
    }
    const through = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      through.pipe(socket).pipe(through);
    });
    through.on('error', () => socket.destroy());
    socket.on('close', () => through.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  process.env.HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    /** The port for a library that uses no proxy. The name `localhost` stands for the given host. */
    port,
    strangers,
    close() {
      for (const each of [server, proxy]) {
        each.closeAllConnections();
        each.close();
      }
    },
  };
}
