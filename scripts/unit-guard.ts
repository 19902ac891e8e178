/**
 * Loaded before the unit tests: one that starts a process or opens a socket fails, also where no import shows it, as with
 * `fetch`. Such a test belongs to another tier (test-tiers.ts).
 */
import { ChildProcess } from 'node:child_process';
import { Server, Socket } from 'node:net';

function refuse(prototype: object, method: string, what: string): void {
  Object.defineProperty(prototype, method, {
    value: () => {
      throw new Error(
        `A unit test ${what}. Import what it needs for that: the import moves it to the tier of slices.`,
      );
    },
  });
}

refuse(ChildProcess.prototype, 'spawn', 'starts a process');
refuse(Socket.prototype, 'connect', 'opens a connection');
refuse(Server.prototype, 'listen', 'listens on a port');
