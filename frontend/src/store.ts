// A value that components can watch. The whole of our state management; nothing product-like here.
import { useSyncExternalStore } from "react";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  /** Replaces the value and tells whoever watches; the same value tells nobody. */
  set = (value: T): void => {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  };

  update = (change: (value: T) => T): void => this.set(change(this.value));

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

/** The store's value, rendered again whenever it changes. */
export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** A part of the store's value; renders again only when that part is another one. */
export function useStorePart<T, P>(store: Store<T>, part: (value: T) => P): P {
  return useSyncExternalStore(store.subscribe, () => part(store.get()));
}
