/**
 * An npm registry on loopback with the packages that are installed in this checkout. A package that installs
 * from it needs no others and no network.
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
  /** Requested packages that do not exist here. */
  missing: string[];
  close(): Promise<void>;
}

const tarball = /^(.+)\/-\/([\w.+-]+)\.tgz$/;

export async function startRegistry(): Promise<Registry> {
  const missing: string[] = [];
  const installed = foldersByName();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const [, name = path, version] = tarball.exec(path) ?? [];
    const folders = installed.get(name) ?? [];
    const [folder] = folders.filter((each) => version === undefined || manifestOf(each).version === version);
    if (folder === undefined) {
      missing.push(name);
      response.writeHead(404).end('{}');
    } else if (version === undefined) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(packument(folders, `${url}/${name}`)));
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

/** Some packages are installed in several versions, each below the package that needs it. */
function foldersByName(): Map<string, string[]> {
  const lock = JSON.parse(readFileSync(join(checkout, 'node_modules', '.package-lock.json'), 'utf8'));
  const places = Object.keys(lock.packages).filter((place) =>
    existsSync(join(checkout, place, 'package.json')),
  );
  const folders = places.map((place) => join(checkout, place));
  return Map.groupBy(folders, (folder) =>
    folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
}

function manifestOf(folder: string): { name: string; version: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function packument(folders: readonly string[], address: string): object {
  const manifests = folders.map(manifestOf);
  const [first] = manifests;
  const published = manifests.map((manifest) => {
    const dist = { tarball: `${address}/-/${manifest.version}.tgz` };
    return [manifest.version, { ...manifest, dist }] as const;
  });
  return {
    name: first?.name,
    'dist-tags': { latest: first?.version },
    versions: Object.fromEntries(published),
  };
}

async function sendTarball(folder: string, response: ServerResponse): Promise<void> {
  const options = ['--exclude=./node_modules', '--transform=s,^[.],package,'];
  const tar = spawn('tar', ['-C', folder, ...options, '-cf', '-', '.'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await pipeline(tar.stdout, createGzip({ level: 0 }), response).catch(() => response.destroy());
}
