"""Django's settings, in sections, all read from the environment: docs/settings.md lists every variable.

Production (PARLEY_ENV=production, the default) refuses to start insecurely; `make up` says `development`.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.admin_site import UNFOLD as UNFOLD
from config.logging import configuration as logging_configuration

BASE_DIR = Path(__file__).resolve().parent.parent

# --- who we are and how strict ---
PARLEY_ENV = env.text("PARLEY_ENV", "production")
DEVELOPMENT = PARLEY_ENV == "development"
DEBUG = env.boolean("DEBUG", False)
SECRET_KEY = env.text("SECRET_KEY", "only-for-development-on-this-machine" if DEVELOPMENT else None)
PUBLIC_URL = env.text("PUBLIC_URL", "http://localhost:8000" if DEVELOPMENT else None).rstrip("/")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"] if DEVELOPMENT else None)
SECURE = urlsplit(PUBLIC_URL).scheme == "https"
if not DEVELOPMENT:
    if "*" in ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS must name the hosts in production, not *: it guards the websocket's Origin."
        )
    if len(SECRET_KEY) < 50 or len(set(SECRET_KEY)) < 5:
        raise ImproperlyConfigured("SECRET_KEY must have at least 50 random characters in production.")
    if not SECURE:
        raise ImproperlyConfigured("PUBLIC_URL must be https:// in production.")
    if DEBUG:
        raise ImproperlyConfigured("DEBUG must be off in production: its pages show settings and rows.")

# --- apps ---
INSTALLED_APPS = [
    "daphne",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.headless",
    "allauth.usersessions",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "django_celery_beat",
    "django_structlog",
    "accounts",
    "inference",
    "moderation",
    "memory",
    "chat",
    "config",
]
MIDDLEWARE = [
    "config.middleware.Health",
    "config.middleware.RequestLog",
    "config.middleware.BodyLength",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.StaticFiles",
    "config.csp.PolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.middleware.DeepBodyMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "config" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# --- stores ---
DATABASE_URL = env.text("DATABASE_URL")
VALKEY_URL = env.text("VALKEY_URL")
DATABASE_POOL_SIZE = env.integer("DATABASE_POOL_SIZE", 16)


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or 5432),
        "CONN_MAX_AGE": 0,
        # A connection that a restarted Postgres dropped is replaced, not handed to a request.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"pool": {"min_size": 1, "max_size": DATABASE_POOL_SIZE, "timeout": 10}},
    }


DATABASES = {"default": _database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Small events only (something changed, sign-outs); an answer's text never goes through it.
CHANNEL_LAYERS = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [VALKEY_URL]}}
}

# Counts of failed log-ins. Valkey away: each process keeps its own.
CACHES = {
    "default": {
        "BACKEND": "accounts.cache.LoseableCache",
        "LOCATION": VALKEY_URL,
        "KEY_PREFIX": "cache",
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
    }
}

# --- people ---
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = env.text("EMAIL_VERIFICATION", "none" if DEVELOPMENT else "mandatory")
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True  # in the browser that signed up; anywhere else a log-in follows
HEADLESS_ONLY = True
HEADLESS_CLIENTS = ("browser", "app")
HEADLESS_FRONTEND_URLS = {
    "account_confirm_email": f"{PUBLIC_URL}/verify/{{key}}",
    "account_reset_password": f"{PUBLIC_URL}/reset",
    "account_reset_password_from_key": f"{PUBLIC_URL}/reset/{{key}}",
    "account_signup": f"{PUBLIC_URL}/signup",
}
SESSION_ENGINE = "django.contrib.sessions.backends.db"
EMAIL_BACKEND = env.text(
    "EMAIL_BACKEND", f"django.core.mail.backends.{'console' if DEVELOPMENT else 'smtp'}.EmailBackend"
)
EMAIL_HOST = env.text("EMAIL_HOST", "localhost")
EMAIL_PORT = env.integer("EMAIL_PORT", 25)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = env.boolean("EMAIL_USE_TLS", False)
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "Parley <parley@localhost>")

# --- what the web may do ---
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS", [PUBLIC_URL])
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_SSL_REDIRECT = env.boolean("SECURE_SSL_REDIRECT", SECURE)
SECURE_HSTS_SECONDS = env.integer("SECURE_HSTS_SECONDS", 31_536_000 if SECURE else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
BEHIND_PROXY = env.boolean("BEHIND_PROXY", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
# How many addresses at the end of X-Forwarded-For our proxies wrote; log-in limits go by the first of them.
ALLAUTH_TRUSTED_PROXY_COUNT = env.integer("TRUSTED_PROXIES", 1 if BEHIND_PROXY else 0)
CSRF_FAILURE_VIEW = "chat.errors.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
MAX_MESSAGE_CHARS = env.integer("MAX_MESSAGE_CHARS", 100_000)
MAX_FRAME_BYTES = env.integer("MAX_FRAME_BYTES", 1_000_000)

# --- interfaces for programs ---
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.BearerSession",
        "accounts.authentication.BrowserSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["chat.rest.body.JsonBody"],
    "EXCEPTION_HANDLER": "chat.errors.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "SCHEMA_COERCE_PATH_PK": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Parley",
    "DESCRIPTION": "Conversations with a model whose answers outlive every process.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "chat.rest.schema.with_events",
    ],
}

# --- answers ---
CATALOGUE = env.text("CATALOGUE", str(BASE_DIR / "config" / "catalogue.toml"))
ENCODER_URL = env.text("ENCODER_URL", "http://127.0.0.1:8002")
START_BY_S = {
    "interactive": env.integer("START_BY_INTERACTIVE_S", 30),
    "api": env.integer("START_BY_API_S", 60),
    "batch": env.integer("START_BY_BATCH_S", 600),
}
LEASE_S = env.integer("LEASE_S", 3)
ANSWER_LIMIT_S = env.integer("ANSWER_LIMIT_S", 600)

# --- background work ---
CELERY_BROKER_URL = VALKEY_URL
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True

# --- files, language, time ---
STATIC_URL = "/static/"
# Served from where they lie (whitenoise with finders): there is nothing to collect.
WHITENOISE_USE_FINDERS = True
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/app/assets/.+-[\w-]{8}\.\w+$"
FRONTEND_DIST = BASE_DIR / "frontend" / "dist"
STATICFILES_DIRS = [("app", FRONTEND_DIST)] if FRONTEND_DIST.is_dir() else []
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

# --- seen from outside ---
LOGGING = logging_configuration(env.text("LOG_LEVEL", "INFO"))
DJANGO_STRUCTLOG_CELERY_ENABLED = True
# Its middleware would look the user up and pin the result to the request: no app could sign in by token then.
# accounts/authentication.py puts the user into the log instead.
DJANGO_STRUCTLOG_USER_ID_FIELD = None
METRICS_TOKEN = env.text("METRICS_TOKEN", "")
