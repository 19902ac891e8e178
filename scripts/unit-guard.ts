/**
 * Loaded before the unit tests. A test that starts a process or opens a socket fails, even if no import shows
 * it, as with `fetch`: it belongs to another tier (test-tiers.ts).
 */
import { ChildProcess } from 'node:child_process';
import { Server, Socket } from 'node:net';

function refuse(prototype: object, method: string, what: string): void {
  Object.defineProperty(prototype, method, {
    value: () => {
      throw new Error(
        `A unit test ${what}. Move it to a file that imports the module for that; it is in the tier "slices".`,
      );
    },
  });
}

refuse(ChildProcess.prototype, 'spawn', 'starts a process');
refuse(Socket.prototype, 'connect', 'opens a connection');
refuse(Server.prototype, 'listen', 'listens on a port');
