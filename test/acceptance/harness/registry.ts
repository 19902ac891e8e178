/**
 * A registry of npm on loopback that has the packages installed in this checkout, and nothing else: what installs from it is known to need
 * no more than that, and no network.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { checkout } from './installation.ts';

export interface Registry {
  url: string;
  /** The names that were asked for and are not there. */
  missing: string[];
  close(): Promise<void>;
}

const packageName = /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i;
const tarball = '/-/package.tgz';

export async function startRegistry(): Promise<Registry> {
  const missing: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const name = path.replace(tarball, '');
    const folder = join(checkout, 'node_modules', name);
    if (!packageName.test(name) || !existsSync(join(folder, 'package.json'))) {
      missing.push(name);
      response.writeHead(404).end('{}');
    } else if (path === name) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(packument(folder, `${url}/${name}${tarball}`)));
    } else void sendTarball(folder, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    missing,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function packument(folder: string, address: string): object {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version } = manifest;
  const dist = { tarball: address };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}

async function sendTarball(folder: string, response: ServerResponse): Promise<void> {
  const options = ['--exclude=./node_modules', '--transform=s,^[.],package,'];
  const tar = spawn('tar', ['-C', folder, ...options, '-cf', '-', '.'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await pipeline(tar.stdout, createGzip({ level: 0 }), response).catch(() => response.destroy());
}
