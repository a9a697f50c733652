"""Where every URL goes."""

from django.contrib import admin
from django.urls import include, path

from config.web import index

PAGES = ("", "login", "signup", "reset", "reset/<path:key>", "verify/<path:key>", "c/<uuid:pk>")

urlpatterns = [
    *(path(page, index) for page in PAGES),
    path("admin/", admin.site.urls),
    path("_allauth/", include("allauth.headless.urls")),
    path("accounts/", include("allauth.urls")),
    path("api/v1/", include("accounts.rest.urls")),
    path("api/v1/", include("chat.rest.urls")),
    path("api/v1/", include("chat.live.urls")),
]

handler400 = "chat.errors.bad_request"
handler403 = "chat.errors.permission_denied"
handler404 = "chat.errors.page_not_found"
handler500 = "chat.errors.server_error"
