/** `@headgate/contract/inherited-descriptors`, for the programs that start others. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';

/** O_CLOEXEC in `/proc/self/fdinfo`. Node.js opens everything with it, but for the certificates that OpenSSL reads. */
const closeOnExec = 0o2000000;

/**
 * Closes the descriptors that this process has from whoever started it (`exec 77<secret; npm start`), so that
 * they do not reach the programs that it starts, such as git, PostgreSQL and scripts. Node.js itself does so
 * only with the first 16 and those that follow without a gap, among them the bootstrap's. Does nothing where
 * there is no /proc of Linux.
 *
 * @returns those that it closed
 */
export function closeInheritedDescriptors(): number[] {
  // A thread may be reading NODE_EXTRA_CA_CERTS since the start. This waits for it: its descriptor looks inherited.
  getCACertificates('default');
  return listDescriptors().filter((descriptor) => {
    if (descriptor <= 2 || !isInheritable(descriptor)) return false;
    try {
      closeSync(descriptor);
      return true;
    } catch {
      return false;
    }
  });
}

function listDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return [];
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false;
  }
}
