// How the web UI is built and tested. Django serves `dist/index.html` for every page and
// the hashed files under /static/app/; nothing may be inlined, the page's CSP forbids it.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const backend = "http://127.0.0.1:8000";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "/static/app/" : "/",
  plugins: [react()],
  build: { outDir: "dist", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: {
    proxy: {
      "/api": backend,
      "/_allauth": backend,
      "/ws": { target: backend, ws: true },
    },
  },
  test: { environment: "jsdom", include: ["tests/**/*.test.{ts,tsx}"], restoreMocks: true },
}));
