/** What is wrong with a file that is converted. The thread does not load what declares the faults of runs. */
export class FileFault extends Error {}
