/** How a run reaches object stores. */
import type { StoreAddress } from '@headgate/pipelines';
import type { FetchOptions } from './fetched-file.ts';
import type { FetchedFile, ObjectStore } from './object-store.ts';

export interface StoreAccess {
  /** @throws Error with the reason */
  open(address: StoreAddress): Promise<ObjectStore>;
  fetch(options: Omit<FetchOptions, 'bounds' | 'time'>): Promise<FetchedFile[]>;
}
